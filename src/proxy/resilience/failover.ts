/**
 * Where a request may go when the revision that it was meant for has failed it. Another revision of the version is
 * fit to stand in when it has a weight, a closed breaker from which it is not just recovering, and an active route for
 * the method and path, and when that route is under the very same policy: what let the request pass here must be what
 * would have let it pass there. That is so for revisions and endpoints without a policy of their own. Owns no state but
 * scratch memory.
 */
import { comparablePath } from '../../http/canonical-path.ts';
import { findRoute } from '../../config/path-trie.ts';
import { REVISIONS_MAX, TRAFFIC_CLASSES } from '../../config/weights.ts';
import type { Revision, Route } from '../context.ts';
import type { Exchange } from '../exchange.ts';

const eligible = new Uint8Array(REVISIONS_MAX);
const routes: (Route | undefined)[] = [];

/**
 * Takes turns by weight among the fit.
 * @param tried revisions that had their chance; none of them is chosen
 */
export function failoverRoute(
  route: Route,
  exchange: Exchange,
  tried: readonly Revision[],
): Route | undefined {
  const { revisions, choice, gatewayPath } = route.version;
  if (choice === undefined) return undefined;
  const { context, method } = exchange;
  const path = comparablePath(exchange.path);
  let fit = 0;
  for (const revision of revisions) {
    const { index } = revision;
    eligible[index] = 0;
    if (revision.weight === 0 || tried.includes(revision)) continue;
    // One that recovers is spared, too.
    if (context.breakerOf(revision)?.isClosed === false || context.shareOf(revision) < 1) continue;
    const found = findRoute(revision.endpoints, path, gatewayPath.length, method) ?? revision.fallback;
    if (found === undefined || !found.active || found.policy !== route.policy) continue;
    // Whether such a value may be put there was looked at for the first route only (match.ts).
    if (exchange.hasEncodedSlash && found.backendParts !== undefined) continue;
    eligible[index] = 1;
    routes[index] = found;
    fit += 1;
  }
  if (fit === 0) return undefined;
  const chosen = routes[choice.pick(eligible, TRAFFIC_CLASSES.bare)];
  // Nothing of a configuration may outlive it here.
  routes.length = 0;
  return chosen;
}
