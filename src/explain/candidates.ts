/**
 * Why each current revision of a version could or could not serve a request: the rules of match.ts, asked revision by
 * revision and with their reasons. Chooses nothing; who was chosen is the match's to say.
 */
import type { Candidate } from '../model/schemas/explain.ts';
import { findRoute } from '../config/path-trie.ts';
import type { ProxyContext, Revision, Version } from '../proxy/context.ts';

/** More are not listed. */
const CANDIDATES_MAX = 64;

/**
 * @param path comparable spelling, as the match was made on
 * @param suffixStart of the match
 * @param chosenId the revision that the request went to, if any
 */
export function candidatesOf(
  version: Version,
  path: string,
  suffixStart: number,
  method: string,
  chosenId: string | undefined,
  context: ProxyContext,
): Candidate[] {
  const shown = version.revisions.slice(0, CANDIDATES_MAX).map((revision) => {
    const reason = reasonAgainst(revision, path, suffixStart, method, context);
    return { revision, reason };
  });
  const shares = sharesOf(shown, context);
  return shown.map(({ revision, reason }, index) => {
    const breaker = context.breakerOf(revision);
    const candidate = reason === '';
    const chosen = revision.id === chosenId;
    return {
      id: revision.id,
      revision: revision.label,
      is_current: true,
      traffic_weight: revision.weight,
      share: shares[index] ?? 0,
      breaker: breaker?.view(context.clock.nowMs()).state ?? 'none',
      candidate,
      chosen,
      reason: candidate ? (chosen ? 'it was its turn' : 'it was the turn of another revision') : reason,
    };
  });
}

/** As weights.ts has it: by weight, but that recovering ones leave a part of theirs to those that are not. */
function sharesOf(
  shown: readonly { readonly revision: Revision; readonly reason: string }[],
  context: ProxyContext,
): number[] {
  const weights = shown.map(({ revision, reason }) => (reason === '' ? revision.weight : 0));
  const parts = shown.map(({ revision, reason }) => (reason === '' ? context.shareOf(revision) : 1));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const whole = weights.reduce((sum, weight, index) => sum + (parts[index] === 1 ? weight : 0), 0);
  if (total === 0 || whole === 0) return weights.map((weight) => (total === 0 ? 0 : weight / total));
  const own = weights.map((weight, index) => (weight * (parts[index] ?? 1)) / total);
  const spared = 1 - own.reduce((sum, share) => sum + share, 0);
  return own.map((share, index) =>
    parts[index] === 1 ? share + (spared * (weights[index] ?? 0)) / whole : share,
  );
}

/** '' for a candidate. */
function reasonAgainst(
  revision: Revision,
  path: string,
  suffixStart: number,
  method: string,
  context: ProxyContext,
): string {
  if (revision.weight === 0) return 'its traffic_weight is 0';
  const route = findRoute(revision.endpoints, path, suffixStart, method) ?? revision.fallback;
  if (route === undefined) return `it has no endpoint for ${method} and this path`;
  if (!route.active) return `its endpoint ${route.method} ${route.template} is disabled`;
  return context.shareOf(revision) > 0 ? '' : 'its circuit breaker is open';
}
