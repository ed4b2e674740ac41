/** Warnings of a version. Pure. */
import type { Version } from '../../../model/resources.ts';
import { warning, type Warning } from '../../../model/warnings.ts';
import type { RuleContext } from '../rule-context.ts';

export function versionWarnings({ status, sunset_at: sunset }: Version, { clock }: RuleContext): Warning[] {
  if (sunset === null || status === 'retired') return [];
  const found: Warning[] = [];
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
