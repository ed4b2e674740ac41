/**
 * The outcome of a recorded request on a configuration: the gateway's own answer, or the backends that it may go to.
 * Two outcomes are equal when a client could not distinguish the gateway's decisions: the choice among several
 * revisions, breakers and the state of counters do not count.
 */
import type { CallerKind } from '../../model/auth/caller-kinds.ts';
import { comparablePath } from '../../http/paths/canonical-path.ts';
import type { CompiledPolicy } from '../../policy/stage.ts';
import { createEligibleRevisions, findEligibleRevisions } from '../../proxy/eligible-revisions.ts';
import type { ExchangeView } from '../../proxy/interfaces/exchange-view.ts';
import type { Route } from '../../proxy/interfaces/route.ts';
import { upstreamPath } from '../../proxy/upstream-path.ts';
import { browserRefusalOf } from '../facts.ts';

export interface ReplayCaller {
  readonly kind: CallerKind;
  readonly id: string;
  readonly name: string;
}

export interface ReplayOutcome {
  /** null: a backend answers. */
  readonly status: number | null;
  readonly code: string | null;
  /** Whether a browser would keep the answer from the page that asked. */
  readonly isBrowserRefused: boolean;
  /** URLs without queries, in order; empty unless a backend answers. */
  readonly backends: readonly string[];
  readonly caller: ReplayCaller;
  /** Slug; null when no version has the path. */
  readonly app: string | null;
  /** A credential was required that the record does not contain. */
  readonly isGuessed: boolean;
}

/** @param route where it would have been forwarded; undefined when the gateway answers */
export function outcomeOf(
  exchange: ExchangeView,
  route: Route | undefined,
  isGuessed: boolean,
): ReplayOutcome {
  const { version, evaluation, errorCode } = exchange;
  const { kind, id, name } = evaluation.caller;
  return {
    status: route === undefined ? exchange.status : null,
    code: route === undefined ? (errorCode ?? null) : null,
    isBrowserRefused: browserRefusalOf(exchange) !== undefined,
    backends: route === undefined ? [] : backendsOf(exchange, route),
    caller: callerOf({ kind, id, name }, evaluation.refusedKeyId, evaluation.refusedKeyName),
    app: version?.app.slug ?? null,
    isGuessed,
  };
}

export function isSameOutcome(a: ReplayOutcome, b: ReplayOutcome): boolean {
  return (
    a.status === b.status &&
    a.code === b.code &&
    a.isBrowserRefused === b.isBrowserRefused &&
    a.backends.join('\n') === b.backends.join('\n')
  );
}

function callerOf(caller: ReplayCaller, refusedId: string, refusedName: string): ReplayCaller {
  if (caller.kind !== 'anonymous' || refusedId === '') return caller;
  return { kind: 'api_key', id: refusedId, name: refusedName };
}

const found = createEligibleRevisions<CompiledPolicy>();

/** Every revision that the request may go to. */
function backendsOf({ path, matchedMethod, method, suffixStart }: ExchangeView, route: Route): string[] {
  const { version } = route;
  const asked = matchedMethod === '' ? method : matchedMethod;
  findEligibleRevisions(version, comparablePath(path), asked, () => 1, found);
  const urls = new Set<string>();
  for (const [index, { backend, targets }] of version.revisions.entries()) {
    const eligible = found.routes[index];
    if (found.isEligible[index] !== 1 || eligible === undefined) continue;
    // Results of discovery are not known here, and no change of the configuration changes them.
    const list = targets?.source === undefined ? targets?.list : undefined;
    const backends = list?.filter(({ weight }) => weight > 0).map((target) => target.backend) ?? [backend];
    for (const { scheme, authority } of backends)
      urls.add(`${scheme}://${authority}${upstreamPath(eligible, path, suffixStart)}`);
  }
  return [...urls].sort();
}
