/** State shared by all exchanges of a worker, without their observers (proxy-context.ts). Created once per worker. */
import type { Snapshot } from '../../config/types.ts';
import type { Egress } from '../../egress/egress.ts';
import type { ViaHops } from '../../http/fields/forwarded.ts';
import type { Clock } from '../../lib/clock.ts';
import type { CompiledPolicy } from '../../policy/stage.ts';
import type { OrderedCertificates } from '../downstream/tls/ordered-certificates.ts';
import type { IncompleteHeads } from '../downstream/incomplete-heads.ts';
import type { WaitingClients } from '../downstream/waiting-clients.ts';
import type { Tracing } from '../tracing/exchange-trace.ts';
import type { ExchangeLimiter } from '../exchange-limiter.ts';
import type { RequestMemory } from '../io/request-memory.ts';
import type { MatchResult } from '../match.ts';
import type { ProxyOptions } from '../options.ts';
import type { Breaker } from '../resilience/breaker.ts';
import type { Deadlines } from '../resilience/deadlines.ts';
import type { RetryBudgets } from '../resilience/retry-budget.ts';
import type { Revision } from './route.ts';
import type { TargetGroup } from '../targets/target-group.ts';
import type { UpstreamPermits } from '../upstream/pool/permits.ts';
import type { UpstreamPool } from '../upstream/pool/pool.ts';

export interface SharedParts {
  readonly options: ProxyOptions;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly pool: UpstreamPool;
  /** Allowed destinations of backend connections. */
  readonly egress: Egress;
  /** The unique name of this gateway towards backends. */
  readonly via: ViaHops;
  readonly permits: UpstreamPermits;
  readonly exchangeLimiter: ExchangeLimiter;
  /** Idle clients, which are closed when new clients need room. */
  readonly waiting: WaitingClients;
  /** Clients whose heads are not complete. */
  readonly incompleteHeads: IncompleteHeads;
  readonly requestMemory: RequestMemory;
  readonly retryBudgets: RetryBudgets;
  /** The snapshot for new exchanges. */
  snapshot(): Snapshot<CompiledPolicy>;
  breakerOf(revision: Revision): Breaker | undefined;
  /** undefined for a revision with a single target. */
  targetsOf(revision: Revision): TargetGroup | undefined;
  /** The share of its usual traffic that the revision's breaker would admit, 0 for none; changes nothing. */
  readonly shareOf: (revision: Revision) => number;
  isTrustedProxy(address: string): boolean;
  nextRequestId(): string;
  /** undefined when traces are not exported. */
  readonly tracing: Tracing | undefined;
  /** undefined when the gateway orders no certificates. */
  readonly ordered?: OrderedCertificates | undefined;
  isDraining(): boolean;
  /** Date of RFC 9110 section 5.6.7, at most a second old. */
  httpDate(): string;
  /** Reused by every match: it is read before the next request is matched. */
  readonly match: MatchResult<CompiledPolicy>;
}

/**
 * Creates `shareOf` of a context: one function per worker, which reads the clock only for breakers that are not
 * pristine.
 * @param targetsOf for revisions with discovery, whose share is 0 until targets are found
 */
export function shares(
  breakerOf: (revision: Revision) => Breaker | undefined,
  clock: Clock,
  targetsOf: (revision: Revision) => { readonly count: number } | undefined,
): (revision: Revision) => number {
  return (revision) => {
    if (revision.targets?.source !== undefined && targetsOf(revision)?.count === 0) return 0;
    const breaker = breakerOf(revision);
    if (breaker === undefined || breaker.isPristine) return 1;
    return breaker.share(revision.breaker, revision.hasHealthCheck, clock.nowMs());
  };
}
