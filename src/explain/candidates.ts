/**
 * Why each current revision of a version could or could not serve a request (proxy/eligible-revisions.ts), as part of
 * an explanation, and which of its targets got it. Chooses nothing: the engine has already chosen.
 */
import type { CompiledRoute } from '../config/types.ts';
import type { Candidate, ExplainedTarget } from './schema.ts';
import type { ExchangeView } from '../proxy/interfaces/exchange-view.ts';
import { choiceReasonText } from '../proxy/targets/choice-text.ts';
import type { CompiledPolicy } from '../policy/stage.ts';
import type { SharedParts } from '../proxy/interfaces/shared-parts.ts';
import type { Revision, Route, Version } from '../proxy/interfaces/route.ts';
import {
  createEligibleRevisions,
  findEligibleRevisions,
  type Ineligibility,
} from '../proxy/eligible-revisions.ts';

/** Limit of the listed candidates. */
const CANDIDATES_MAX = 64;

/**
 * @param path comparable spelling, as used by the match
 * @param chosenId the revision that the request went to, if any
 */
export function candidatesOf(
  version: Version,
  path: string,
  method: string,
  chosenId: string | undefined,
  context: SharedParts,
): Candidate[] {
  const found = createEligibleRevisions<CompiledPolicy>();
  findEligibleRevisions(version, path, method, context.shareOf, found);
  const shown = version.revisions.slice(0, CANDIDATES_MAX).map((revision, index) => {
    const reason = reasonText(found.reasons[index], found.routes[index], method, context);
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
      reason: candidate
        ? chosen
          ? 'the weighted choice selected it'
          : 'the weighted choice selected another revision'
        : reason,
    };
  });
}

/**
 * The same rule as in weights.ts: by weight, except that recovering revisions give part of their share to the
 * others.
 */
function sharesOf(
  shown: readonly { readonly revision: Revision; readonly reason: string }[],
  context: SharedParts,
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
function reasonText(
  reason: Ineligibility | undefined,
  route: CompiledRoute<CompiledPolicy> | undefined,
  method: string,
  context: SharedParts,
): string {
  switch (reason) {
    case 'no_weight':
      return 'its traffic_weight is 0';
    case 'no_endpoint':
      return `it has no endpoint for ${method} and this path`;
    case 'endpoint_disabled':
      return `its endpoint ${route?.method} ${route?.template} is disabled`;
    case 'breaker_open':
      return route !== undefined && context.targetsOf(route.revision)?.count === 0
        ? `discovery (${route.revision.targets?.source}) has found no targets yet`
        : 'its circuit breaker is open';
    default:
      return '';
  }
}

/** Limit of the listed targets. */
const TARGETS_MAX = 64;

/** undefined: the revision has a single target, or the exchange never got that far. */
export function explainedTarget(
  exchange: ExchangeView,
  route: Route | undefined,
): ExplainedTarget | undefined {
  const { target, context } = exchange;
  const group = route === undefined ? undefined : context.targetsOf(route.revision);
  if (target === undefined || group === undefined) return undefined;
  const { list, balancing } = target.targets;
  const { ejection, slowStartMs } = balancing;
  const nowMs = context.clock.nowMs();
  return {
    target: target.backend.authority,
    zone: list[target.choice.index]?.zone ?? null,
    source: target.targets.source ?? null,
    algorithm: balancing.algorithm,
    reason: choiceReasonText(target),
    // The group may be of another configuration by now.
    targets: group.compiled.list.slice(0, TARGETS_MAX).map(({ backend, weight }, index) => ({
      target: backend.authority,
      weight,
      state: group.stateOf(index).phase(ejection, slowStartMs, nowMs),
      in_flight: group.load(index),
    })),
  };
}
