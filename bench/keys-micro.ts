/**
 * Nanoseconds of CPU time that API keys cost per request, by how many of them are in use one after the other: policy
 * with key, scope and fixed window, the lines for the backend, and the counts of the key. Without a network:
 *
 *     node bench/keys-micro.ts [seconds]
 *
 * Runs in a worker with the heap of a proxy worker, and leaves garbage as a request does, so that collections come at
 * the same pace; all threads of the process are counted. The cases take turns in batches of many collections; the best
 * and the lower quartile are printed, and what is above ten keys.
 */
import { once } from 'node:events';
import { Worker, isMainThread } from 'node:worker_threads';
import { systemClock } from '../src/lib/clock.ts';
import type { StoredApiKey } from '../src/model/resources.ts';
import { evaluate, newEvaluation } from '../src/policy/evaluate.ts';
import type { CompiledPolicy, RequestFacts } from '../src/policy/stage.ts';
import { effective, testApp } from '../src/policy/test-fixtures.ts';
import { UsageCounter } from '../src/keys/usage-counter.ts';
import { KeyTable } from '../src/keys/key-table.ts';
import { fillerKeys } from './database.ts';
import { compilerFor } from './policies.ts';
import { benchToken, LIMIT_REQUESTS, LIMIT_WINDOW_SECS, SCOPE } from './service.ts';

const APP_ID = '0197a1b2-0000-7000-8000-000000000001';
const KEYS = 100_000;
const BATCH_KEYS = 2_000;
const BATCH_REQUESTS = 20_000;
const YOUNG_GENERATION_MIB_MAX = 24;
/** What a request leaves behind besides: 300 words. */
const GARBAGE = Array.from({ length: 300 }, (_, index) => index);
const IN_USE = [10, 1_000, 10_000, 30_000, 100_000];
/** Of keys that have a limit of their own. */
const LIMITED_IN_USE = [1_000, 10_000];
/** Requests between two seconds of a loaded worker. */
const REQUESTS_PER_TICK = 25_000;

interface Case {
  readonly name: string;
  readonly ns: number[];
  batch(): void;
}

function tableOf(appId: string, plan: StoredApiKey['rate_limit']): KeyTable {
  const table = new KeyTable();
  let batch: StoredApiKey[] = [];
  for (const key of fillerKeys({ endpoints: 1, keys: KEYS }, appId)) {
    if (batch.push({ ...key, rate_limit: plan }) < BATCH_KEYS) continue;
    table.change(batch, []);
    batch = [];
  }
  return table;
}

/** One memory of keys for each number of keys in use, as in a gateway that serves these. */
function casesOf(name: string, plan: StoredApiKey['rate_limit'], inUse: readonly number[]): Case[] {
  const app = { ...testApp(), id: APP_ID };
  const keys = tableOf(APP_ID, plan);
  const rate_limit = { enabled: true, requests: LIMIT_REQUESTS, window_seconds: LIMIT_WINDOW_SECS };
  const policy = { auth: { auth_type: 'api_key' as const }, required_scopes: [SCOPE], rate_limit };
  return inUse.map((count) => {
    // As the message is read by the main thread.
    const notes = new UsageCounter((noted) => void structuredClone(noted));
    return caseOf(`${count} ${name}`, compilerFor(keys)(effective(policy), app), notes, count);
  });
}

function caseOf(name: string, compiled: CompiledPolicy, notes: UsageCounter, count: number): Case {
  const heads = Buffer.from(
    Array.from({ length: count }, (_, index) => {
      return `GET /app0/v0/resource0/42 HTTP/1.1\r\nAuthorization: Bearer ${benchToken(index)}\r\n\r\n`;
    }).join(''),
    'latin1',
  );
  const length = heads.length / count;
  const from = heads.indexOf('Bearer');
  const to = heads.indexOf('\r\n\r\n');
  let head = '';
  const facts: RequestFacts = {
    method: 'GET',
    path: '/app0/v0/resource0/42',
    clientIp: '192.0.2.1',
    announcedBytes: -1,
    clientTls: undefined,
    ended: false,
    nowMs: systemClock.nowMs(),
    header: () => head.slice(from, to),
    combined: () => undefined,
  };
  let [at, requests, characters] = [0, 0, 0];
  const batch = (): void => {
    for (let left = BATCH_REQUESTS; left > 0; left--) {
      head = heads.toString('latin1', at * length, (at + 1) * length);
      at = at + 1 === count ? 0 : at + 1;
      const evaluation = newEvaluation();
      if (evaluate(compiled, facts, evaluation) !== undefined) throw new Error('denied');
      const { caller } = evaluation;
      notes.countUse(caller, 'allowed', facts.nowMs);
      // Written as part of one text, as the request to the backend is.
      characters += Buffer.from(`${head}${caller.upstreamHeaderLines}\r\n`, 'latin1').length;
      characters += GARBAGE.slice().length;
      if (++requests % REQUESTS_PER_TICK === 0) notes.tick();
    }
  };
  return { name, ns: [], batch };
}

function measure(seconds: number): void {
  const only = process.env['ONLY'];
  const plan = { enabled: true, requests: LIMIT_REQUESTS, window_seconds: LIMIT_WINDOW_SECS };
  const cases = [
    ...casesOf('keys', null, only === undefined ? IN_USE : [Number(only)]),
    ...casesOf('keys, each with a limit', plan, only === undefined ? LIMITED_IN_USE : [Number(only)]),
  ];
  const endMs = performance.now() + seconds * 1000;
  for (let round = 0; performance.now() < endMs || round < 3; round++) {
    for (const each of cases) {
      const begun = process.cpuUsage();
      each.batch();
      const { user, system } = process.cpuUsage(begun);
      // The first rounds meet code that is not compiled and keys that were not used yet.
      if (round > 5) each.ns.push(((user + system) * 1000) / BATCH_REQUESTS);
    }
  }
  const base = quarter(cases[0]?.ns ?? []);
  for (const { name, ns } of cases) {
    const [best, low] = [Math.min(...ns), quarter(ns)];
    const more = (low - base).toFixed(0).padStart(6);
    process.stdout.write(
      `${name.padEnd(28)} best ${best.toFixed(0).padStart(6)}  quarter ${low.toFixed(0).padStart(6)}  above ten ${more} ns  (${ns.length} batches)\n`,
    );
  }
}

function quarter(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 2] ?? NaN;
}

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url), {
    argv: process.argv.slice(2),
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB_MAX },
  });
  await once(worker, 'exit');
} else measure(Number(process.argv[2] ?? 20));
