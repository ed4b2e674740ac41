/**
 * `allowed_methods`: 405 with `Allow` (RFC 9110 sections 15.5.6 and 10.2.1) for every other method. HEAD is allowed
 * where GET is. OPTIONS is a method like any other; preflights have been answered before.
 */
import type { Policy } from '../../../model/policy.ts';
import type { ReasonKind } from '../../../model/reason.ts';
import type { Denial, RequestFacts, Stage, StageResult } from '../../stage.ts';

const METHOD_NOT_ALLOWED: ReasonKind<readonly string[]> = {
  code: 'method_not_allowed',
  detail: (allowed) =>
    allowed.length === 0 ? 'No method is allowed here' : `Allowed here: ${allowed.join(', ')}`,
  headerLines: (allowed) => `Allow: ${allowed.join(', ')}\r\n`,
};

/**
 * Methods are case-sensitive (RFC 9110 section 9.1); names in the configuration are taken as upper case, since
 * that is what a client sends.
 * @returns undefined when every method is allowed: nothing configured, or a list with `*`
 */
export function compileMethods(configured: Policy['allowed_methods']): Stage | undefined {
  if (!configured || configured.includes('*')) return undefined;
  const allowed = new Set(configured.map((method) => method.toUpperCase()));
  if (allowed.has('GET')) allowed.add('HEAD');
  const denial: Denial = Object.freeze({ kind: METHOD_NOT_ALLOWED, data: [...allowed] });
  return (facts: RequestFacts): StageResult => (allowed.has(facts.method) ? undefined : denial);
}
