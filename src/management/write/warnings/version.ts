/** Warnings of a version. Pure. */
import type { Version } from '../../../model/resources.ts';
import { warning, type Warning } from '../../../model/warnings.ts';
import type { RuleContext } from '../rule-context.ts';
import { colonWarnings } from './literal-colons.ts';

export function versionWarnings(version: Version, { clock }: RuleContext): Warning[] {
  const { status, sunset_at: sunset } = version;
  const found = version.gateway_path_is_default ? [] : colonWarnings({ gateway_path: version.gateway_path });
  if (sunset === null || status === 'retired') return found;
  if (Date.parse(sunset) <= clock.nowMs()) {
    found.push(
      warning('sunset_in_past', '/sunset_at', `The sunset was at ${sunset}, but the version is ${status}`),
    );
  }
  if (status !== 'deprecated') {
    const what = 'The version is not deprecated, so responses do not contain its sunset';
    found.push(warning('sunset_not_deprecated', '/sunset_at', what));
  }
  return found;
}
