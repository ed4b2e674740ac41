/**
 * Nanoseconds that finding and serving a route costs per request, by how many routes are configured and in
 * use: the match with the look at its breaker, policy, the lines of CORS and limit, the pool's and the retry budget's
 * look-ups, and the counts. Without a network:
 *
 *     node bench/routes-micro.ts [seconds]
 *
 * What a request costs beyond the first ten routes is waiting for memory. So that these are as cold as in a worker,
 * where the rest of the request passes through the caches, some memory is read after each. The cases take turns in
 * batches, so short that many are not disturbed where others use the machine too: each serves every route once, in a
 * few milliseconds, which is less than what the system's counts of CPU time can tell apart, so that it is the clock
 * that is read. The best and the twentieth part are printed, and what the latter is above ten endpoints.
 */
import { systemClock } from '../src/lib/clock.ts';
import { WorkerMetrics } from '../src/observe/metrics/metrics.ts';
import { evaluate, newEvaluation } from '../src/policy/evaluate.ts';
import { limitHeaderLines } from '../src/policy/parts/rate-limit/rate-limit.ts';
import type { CompiledPolicy, RequestFacts } from '../src/policy/stage.ts';
import { createBreakerMemory, type Breaker } from '../src/proxy/resilience/breaker.ts';
import { BreakerRegistry } from '../src/proxy/resilience/breaker-registry.ts';
import type { Revision } from '../src/proxy/interfaces/route.ts';
import { shares } from '../src/proxy/interfaces/shared-parts.ts';
import type { Exchange } from '../src/proxy/exchange.ts';
import { createMatchResult, matchRequest } from '../src/proxy/match.ts';
import { upstreamPath } from '../src/proxy/upstream-path.ts';
import { RetryBudgets } from '../src/proxy/resilience/retry-budget.ts';
import { WorkerObserver } from '../src/control/workers/worker-observer.ts';
import { SnapshotHolder } from '../src/config/holder.ts';
import { KeyTable } from '../src/keys/key-table.ts';
import { compilerFor } from './policies.ts';
import { ORIGIN } from './service.ts';
import { changeOf } from './snapshot-memory.ts';
import { OPEN_POLICY, routeRequests } from './workloads/scale.ts';

const MANY = 100_000;
const USED = 1_000;
const FEW = 10;
const BATCH = USED;
/** The first batches meet code that is not compiled, and routes that are not in use yet. */
const WARM_UP_BATCHES = 60;
/** What the rest of a request reads: words of eight bytes, a cache line apart. */
const OTHER_WORDS = 131_072;
const LINE_WORDS = 8;
const OTHER_LINES = 1_000;

interface Served {
  readonly holder: SnapshotHolder<CompiledPolicy>;
  readonly breakers: BreakerRegistry;
}

function serve(endpoints: number): Served {
  const keys = new KeyTable();
  const holder = new SnapshotHolder(compilerFor(keys), keys);
  const breakers = new BreakerRegistry();
  // As a worker gets it: one message, which shares no strings with anything else.
  const change = changeOf({ endpoints, policy: OPEN_POLICY });
  const revisions = change.apps.flatMap(({ versions }) => versions.flatMap((version) => version.revisions));
  const memories = revisions.map(({ revision }) => [revision.id, createBreakerMemory()] as const);
  const message = structuredClone({ change, memories });
  holder.apply(message.change);
  for (const [id, words] of message.memories) breakers.add(id, words);
  return { holder, breakers };
}

function caseOf({ holder, breakers }: Served, used: number, endpoints: number): () => void {
  const breakerOf = (revision: Revision): Breaker | undefined => breakers.of(revision);
  const shareOf = shares(breakerOf, systemClock, () => undefined);
  const match = createMatchResult<CompiledPolicy>();
  const paths = Buffer.from(
    routeRequests(used, endpoints)
      .map(({ path }) => path)
      .join('\n'),
  );
  const ends = Int32Array.from(positionsOf(paths, 10));
  const metrics = new WorkerMetrics();
  const observer = new WorkerObserver({
    metrics,
    accessLog: undefined,
    live: { isWatched: false, stop: () => undefined } as never,
    // oxlint-disable-next-line typescript/no-explicit-any -- nothing is logged or recorded here
    ...({ log: {}, recorder: { isSampling: false } } as any),
    send: () => undefined,
    clock: systemClock,
    breakerOf: (id) => breakers.byId(id),
  });
  observer.stop();
  const pools = new Map<string, number>();
  const budgets = new RetryBudgets();
  const facts: RequestFacts = {
    method: 'GET',
    path: '',
    clientIp: '192.0.2.1',
    announcedBytes: -1,
    clientTls: undefined,
    ended: false,
    nowMs: systemClock.nowMs(),
    header: () => undefined,
    combined: () => undefined,
  };
  const other = new Float64Array(OTHER_WORDS * LINE_WORDS);
  let [at, word, sum] = [0, 0, 0];
  const request = (): void => {
    const path = paths.toString('latin1', at === 0 ? 0 : (ends[at - 1] ?? 0) + 1, ends[at]);
    at = at + 1 === used ? 0 : at + 1;
    matchRequest(holder.current, path, false, 'GET', shareOf, match);
    const { route, version, suffixStart } = match;
    if (route === undefined || match.code !== undefined)
      throw new Error(`no route for ${path}: ${match.code}`);
    if (version?.status === 'deprecated') throw new Error('deprecated');
    const evaluation = newEvaluation();
    if (evaluate(route.policy, facts, evaluation) !== undefined) throw new Error('denied');
    if (breakerOf(route.revision)?.isPristine !== true) throw new Error('the breaker is open');
    const { backend } = route.revision;
    pools.set(backend.poolKey, pools.get(backend.poolKey) ?? 0);
    budgets.noteFirst(backend.poolKey, route.version.app.id, facts.nowMs);
    const head = `GET ${upstreamPath(route, path, suffixStart)} HTTP/1.1\r\nHost: ${backend.authority}\r\n\r\n`;
    const lines = limitHeaderLines(evaluation) + (route.policy.cors?.responseLines(ORIGIN) ?? '');
    sum += head.length + lines.length;
    observer.exchangeEnded({
      route,
      evaluation,
      status: 200,
      durationMs: 1.5,
      errorCode: undefined,
    } as unknown as Exchange);
    for (let line = 0; line < OTHER_LINES; line++) {
      sum += other[word] as number;
      word = (word + LINE_WORDS) % other.length;
    }
  };
  return () => {
    for (let left = BATCH; left > 0; left--) request();
    if (Number.isNaN(sum)) throw new Error('not a number');
  };
}

function* positionsOf(bytes: Buffer, byte: number): IterableIterator<number> {
  for (let at = bytes.indexOf(byte); at >= 0; at = bytes.indexOf(byte, at + 1)) yield at;
  yield bytes.length;
}

const seconds = Number(process.argv[2] ?? 20);
const [few, some, many] = [serve(FEW), serve(USED), serve(MANY)];
const cases = [
  { name: `${FEW} endpoints`, run: caseOf(few, FEW, FEW) },
  { name: `${MANY} endpoints, ${FEW} in use`, run: caseOf(many, FEW, MANY) },
  { name: `${USED} endpoints, all in use`, run: caseOf(some, USED, USED) },
  { name: `${MANY} endpoints, ${USED} in use`, run: caseOf(many, USED, MANY) },
].map((each) => ({ ...each, ns: [] as number[] }));
const endMs = performance.now() + seconds * 1000;
for (let round = 0; performance.now() < endMs || round < WARM_UP_BATCHES * 2; round++) {
  for (const { run, ns } of cases) {
    const begunMs = performance.now();
    run();
    const elapsedMs = performance.now() - begunMs;
    if (round >= WARM_UP_BATCHES) ns.push((elapsedMs * 1e6) / BATCH);
  }
}
const twentieth = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 20)] ?? NaN;
const base = twentieth(cases[0]?.ns ?? []);
for (const { name, ns } of cases) {
  const more = (twentieth(ns) - base).toFixed(0).padStart(6);
  process.stdout.write(
    `${name.padEnd(36)} best ${Math.min(...ns)
      .toFixed(0)
      .padStart(
        6,
      )}  20th ${twentieth(ns).toFixed(0).padStart(6)}  above ${more} ns  (${ns.length} batches)\n`,
  );
}
process.exit();
