/**
 * A soak of any length: the gateway at a share of what it can do, while keys, routes, addresses and connections come
 * and go; its memory and descriptors are sampled, and afterwards everything that counts must have counted the same.
 * Memory is what is resident after a collection of garbage in all threads (inspector.ts).
 */
import { readdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { INSPECTABLE, Inspector, type HeapUse } from '../support/programs/inspector.ts';
import { createKey, metric, quietWindowSecs } from '../support/policies.ts';
import { peakBytes, residentBytes, residentFileBytes } from '../support/measure/process-memory.ts';
import { SoakChurn, STEADY, targetOf } from './soak-churn.ts';
import { SoakLoad } from './soak-load.ts';
import type { SoakReport } from './soak-load-process.ts';
import { heldConnections } from '../support/clients/slow-clients.ts';
import { createService, request, type Served } from '../support/traffic.ts';
import { trendOf, type Sample, type Trend } from '../support/measure/trend.ts';
import { untilSettled } from '../support/measure/settled-threads.ts';
import { until } from '../support/measure/until.ts';

const WORKERS = 2;

export interface Soak {
  readonly seconds: number;
  /** Of the seconds, before the ones that count for the trend and for the pace. */
  readonly warmUpSeconds: number;
  /**
   * The last part of the warm-up, with changes at the pace of the test and collections of garbage as they will come:
   * the first of these flush code and pages that changes without a pause have left.
   */
  readonly settleSeconds: number;
  /** Share of what the gateway can do, which is measured first; or exchanges in a second. */
  readonly load: number | { readonly perSecond: number };
  readonly connections: number;
  /**
   * How often memory is read for a sample, which is the lowest: what has become garbage since the collection is in each
   * reading.
   */
  readonly readings: number;
  /** Between two steps of the churn; none in the warm-up, in which caches and heaps are to find their size. */
  readonly churnStepMs: number;
}

export interface SoakOutcome {
  /** The load that was asked for, and the one that was kept up after the warm-up. */
  readonly perSecond: number;
  readonly keptPerSecond: number;
  /** After the warm-up. */
  readonly report: SoakReport;
  /** Of the whole run. */
  readonly violations: readonly string[];
  readonly changes: number;
  /**
   * Resident memory after collections, in MB, from the end of the warm-up on; without pages of files, which the system
   * drops and reads again as it likes.
   */
  readonly memory: Trend;
  readonly memoryMB: readonly number[];
  /** The pages of files, such as the program's. */
  readonly fileMB: readonly number[];
  /**
   * Objects in the heaps of all threads. Nearly without noise, as neither code nor free pages nor garbage are in it:
   * a leak that resident memory hides for an hour shows here within minutes.
   */
  readonly objects: Trend;
  readonly objectsMB: readonly number[];
  /** What V8 has compiled in all threads. */
  readonly codeMB: readonly number[];
  /** The most that was ever resident, garbage with it. */
  readonly peakMB: number;
  readonly descriptors: DescriptorCounts;
  /** Pairs of what the load has counted and what the gateway says, by name. */
  readonly counters: Readonly<Record<string, readonly [load: number, gateway: number]>>;
}

export interface DescriptorCounts {
  /** Before any client came. */
  readonly before: number;
  /** Most of the first and of the last third after the warm-up. */
  readonly early: number;
  readonly late: number;
  /** When all clients and backends had gone. */
  readonly after: number;
}

const CAPACITY_MS = 4_000;
const SAMPLE_MS = 500;
/** Samples of memory, each after collections of garbage; not so often that they are the load. */
const COLLECTIONS = 100;
const COLLECTION_MS_MIN = 2_000;
const STEADY_KEYS = 8;
/** Never reached, and less than what an address may: answers tell of the limit that is nearest. */
const LIMIT = 100_000_000;

export async function soak(options: Soak): Promise<SoakOutcome> {
  const load = await SoakLoad.open();
  const gateway = await startGateway({
    env: {
      ...INSPECTABLE,
      GATEWAY_WORKERS: String(WORKERS),
      GATEWAY_LOG__ACCESS: 'false',
      GATEWAY_TRUSTED_PROXY_IPS: '127.0.0.0/8',
      GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true',
      GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: String(2 * LIMIT),
      GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS: '60',
    },
  });
  try {
    return await runSoak(options, gateway, load);
  } finally {
    load.close();
    await gateway.stop();
  }
}

async function runSoak(options: Soak, gateway: TestGateway, load: SoakLoad): Promise<SoakOutcome> {
  const keys = await prepare(gateway, load);
  const inspector = await Inspector.open(gateway);
  await untilSettled(gateway, WORKERS);
  const before = descriptorsOf(gateway);
  const churn = new SoakChurn(gateway, load, options.churnStepMs);
  const churning = churn.run();
  const reports: SoakReport[] = [];
  let perSecond: number;
  if (typeof options.load === 'number') {
    // What it can do while changes come as they will come afterwards.
    const capacity = await reportOf(gateway, load, options, Infinity, CAPACITY_MS);
    reports.push(capacity);
    perSecond = pace(capacity) * options.load;
  } else ({ perSecond } = options.load);
  churn.stepMs = 0;
  const pressedSeconds = options.warmUpSeconds - options.settleSeconds;
  reports.push(await reportOf(gateway, load, options, perSecond, pressedSeconds * 1000));
  churn.stepMs = options.churnStepMs;
  // Begun anew, so that what the warm-up was behind with is not made up for.
  load.start(gateway.proxyPort, options.connections, perSecond);
  const samples = await sample(gateway, inspector, options);
  churn.stop();
  await churning;
  const report = await load.stop();
  reports.push(report);
  const counters = await countersOf(gateway, reports, [...keys, ...churn.keys], keys[0]);
  load.close();
  await until(async () => (await idleUpstream(gateway)) === 0, 30_000);
  const { early, late, ...memory } = samples;
  const descriptors = { before, early, late, after: descriptorsOf(gateway) };
  inspector.close();
  return {
    perSecond,
    keptPerSecond: pace(report),
    report,
    violations: reports.flatMap(({ violations }) => violations),
    changes: churn.changes,
    ...memory,
    descriptors,
    counters,
  };
}

/** What is there from the first to the last moment; returns its keys. */
async function prepare(gateway: TestGateway, load: SoakLoad): Promise<Served[]> {
  const rate_limit = { enabled: true, requests: LIMIT, window_seconds: quietWindowSecs(), per: 'api_key' };
  await createService(gateway, STEADY, load.backendPort, {
    app: { default_policy: { auth: { auth_type: 'api_key' }, rate_limit, concurrency: { max: 10_000 } } },
  });
  const keys: Served[] = [];
  for (let index = 0; index < STEADY_KEYS; index++) {
    const key = await createKey(gateway, STEADY);
    keys.push(key);
    load.add(targetOf(key.id, `/${STEADY}/v1/x`, key.token));
  }
  load.add(targetOf('without a key', `/${STEADY}/v1/x`, undefined, { status: 401, body: undefined }));
  load.add(targetOf('nowhere', '/nowhere/v1/x', undefined, { status: 404, body: undefined }));
  return keys;
}

/** @param perSecond Infinity: as many as are answered */
async function reportOf(
  gateway: TestGateway,
  load: SoakLoad,
  { connections }: Soak,
  perSecond: number,
  durationMs: number,
): Promise<SoakReport> {
  load.start(gateway.proxyPort, connections, perSecond);
  await pause(durationMs);
  return load.stop();
}

async function sample(
  gateway: TestGateway,
  inspector: Inspector,
  { seconds, warmUpSeconds, settleSeconds, readings }: Soak,
): Promise<
  Pick<SoakOutcome, 'memory' | 'memoryMB' | 'fileMB' | 'objects' | 'objectsMB' | 'codeMB' | 'peakMB'> &
    Pick<DescriptorCounts, 'early' | 'late'>
> {
  const pid = gateway.process.pid ?? 0;
  const durationMs = (seconds - warmUpSeconds + settleSeconds) * 1000;
  const collectionMs = Math.max(COLLECTION_MS_MIN, durationMs / COLLECTIONS);
  const startMs = performance.now();
  const settledMs = settleSeconds * 1000;
  const held: Held[] = [];
  const descriptors: Sample[] = [];
  for (let atMs = 0; atMs < durationMs; atMs = performance.now() - startMs) {
    descriptors.push({ atMs, value: descriptorsOf(gateway) });
    if (atMs >= held.length * collectionMs) held.push(await heldAt(atMs, inspector, pid, readings));
    await pause(SAMPLE_MS);
  }
  const most = (from: number, to: number): number =>
    Math.max(...descriptors.filter(({ atMs }) => atMs >= from && atMs < to).map(({ value }) => value));
  const megabytes = (of: (each: Held) => number): Sample[] =>
    held.filter(({ atMs }) => atMs >= settledMs).map((each) => ({ atMs: each.atMs, value: of(each) / 1e6 }));
  const list = (of: (each: Held) => number): number[] =>
    megabytes(of).map(({ value }) => Math.round(value * 100) / 100);
  return {
    memory: trendOf(megabytes(({ memoryBytes }) => memoryBytes)),
    memoryMB: list(({ memoryBytes }) => memoryBytes),
    fileMB: list(({ fileBytes }) => fileBytes),
    objects: trendOf(megabytes(({ objectBytes }) => objectBytes)),
    objectsMB: list(({ objectBytes }) => objectBytes),
    codeMB: list(({ codeBytes }) => codeBytes),
    peakMB: Math.round(peakBytes(pid) / 1e6),
    early: most(0, durationMs / 3),
    late: most((durationMs * 2) / 3, Infinity),
  };
}

interface Held extends HeapUse {
  readonly atMs: number;
  readonly memoryBytes: number;
  readonly fileBytes: number;
}

/** What is there without garbage. */
async function heldAt(atMs: number, inspector: Inspector, pid: number, readings: number): Promise<Held> {
  let memoryBytes = Infinity;
  let objectBytes = Infinity;
  let codeBytes = 0;
  for (let reading = 0; reading < readings; reading++) {
    await inspector.collectGarbage();
    memoryBytes = Math.min(memoryBytes, residentBytes(pid) - residentFileBytes(pid));
    const use = await inspector.heapUse();
    objectBytes = Math.min(objectBytes, use.objectBytes);
    codeBytes = use.codeBytes;
  }
  return { atMs, memoryBytes, fileBytes: residentFileBytes(pid), objectBytes, codeBytes };
}

/** Waits until the counts that are handed over now and then have come, or will not come any more. */
async function countersOf(
  gateway: TestGateway,
  reports: readonly SoakReport[],
  keys: readonly Served[],
  steady: Served,
): Promise<SoakOutcome['counters']> {
  const statusOf = (status: string): number => sumOf(reports.map(({ byStatus }) => byStatus[status] ?? 0));
  const targetCount = (id: string): number => sumOf(reports.map(({ byTarget }) => byTarget[id] ?? 0));
  const counted = sumOf(keys.map(({ id }) => targetCount(id)));
  const usage = async (): Promise<number> =>
    sumOf(await Promise.all(keys.map((key) => allowedOf(gateway, key))));
  await until(async () => (await usage()) >= counted).catch(() => undefined);
  // Before the last request, which is one of a key as well.
  const usedByKeys = await usage();
  const downstream = (): Promise<number> => metric(gateway, 'headgate_downstream_connections');
  await until(async () => (await downstream()) === 0).catch(() => undefined);
  const last = await request(gateway, `/${STEADY}/v1/x`, {
    headers: { Authorization: `Bearer ${steady.token}` },
  });
  const used = LIMIT - Number(last.headers['x-ratelimit-remaining']) - 1;
  // Routes come and go meanwhile.
  const requests = async (status: string): Promise<number> =>
    (await metric(gateway, 'headgate_requests_total', { status })) +
    (await metric(gateway, 'headgate_deleted_requests_total', { status }));
  return {
    // The last request of all is this function's.
    'answers with 200': [statusOf('200'), (await requests('200')) - 1],
    'answers with 401': [statusOf('401'), await requests('401')],
    'answers without a route': [statusOf('404'), await metric(gateway, 'headgate_unrouted_requests_total')],
    'requests of the keys that are left': [counted, usedByKeys],
    'requests under the limit of a key': [targetCount(steady.id), used],
    'connections left': [0, await downstream()],
  };
}

async function allowedOf(gateway: TestGateway, key: Served): Promise<number> {
  const { totals } = await gateway.must('GET', `/apps/${STEADY}/tokens/${key.id}/usage`);
  return totals.allowed;
}

const idleUpstream = (gateway: TestGateway): Promise<number> =>
  metric(gateway, 'headgate_upstream_idle_connections');
/** Without connections to the management API, which are this process's. */
const descriptorsOf = ({ process: { pid }, managementPort }: TestGateway): number =>
  readdirSync(`/proc/${pid}/fd`).length - heldConnections(managementPort).size;
const sumOf = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
/** Exchanges in a second. */
const pace = ({ byStatus, seconds }: SoakReport): number => sumOf(Object.values(byStatus)) / seconds;
