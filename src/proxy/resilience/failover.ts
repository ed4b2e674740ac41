/**
 * Chooses another revision of the version when the intended revision has failed a request: one that is eligible to take
 * over (eligible-revisions.ts), by weight. Owns only scratch memory.
 */
import { TRAFFIC_CLASSES } from '../../config/weights.ts';
import { comparablePath } from '../../http/paths/canonical-path.ts';
import type { CompiledPolicy } from '../../policy/stage.ts';
import type { Revision, Route } from '../interfaces/route.ts';
import { createEligibleRevisions, findEligibleRevisions } from '../eligible-revisions.ts';
import type { ExchangeView } from '../interfaces/exchange-view.ts';

const scratch = createEligibleRevisions<CompiledPolicy>();

/**
 * @param route of the failed revision
 * @param tried revisions that have failed the request, including this one
 * @returns undefined if no other revision is eligible
 */
export function failoverRoute(
  route: Route,
  exchange: ExchangeView,
  tried: readonly Revision[],
): Route | undefined {
  const { version, policy } = route;
  const { choice } = version;
  if (choice === undefined) return undefined;
  const { context, method, hasEncodedSlash } = exchange;
  findEligibleRevisions(version, comparablePath(exchange.path), method, context.shareOf, scratch, {
    policy,
    tried,
    hasEncodedSlash,
    isBreakerClosed: (revision) => context.breakerOf(revision)?.isClosed !== false,
  });
  if (scratch.count === 0) return undefined;
  const chosen = scratch.routes[choice.pick(scratch.isEligible, TRAFFIC_CLASSES.bare)];
  // Must not keep a replaced configuration reachable.
  scratch.routes.length = 0;
  return chosen;
}
