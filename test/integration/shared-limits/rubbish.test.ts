/**
 * Something else than Valkey or Redis is at the address of the store, or the store is broken: its answers are rubbish.
 * No thread ends, memory stays bounded, requests are answered with what the gateway may admit by itself, and all is as
 * before when the store is back.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startLimitNodes, type LimitNodes } from '../../support/limit-nodes.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { startRubbishStore, type Rubbish, type RubbishStore } from '../../support/backends/rubbish-store.ts';
import { startRedis, type TestRedis } from '../../support/programs/redis.ts';

const REQUESTS = 50;
/** Longer than until a connection is replaced. */
const KIND_MS = 1_300;
const MEMORY_KIB_MAX = 200 * 1_024;

const KINDS: Readonly<Record<string, Rubbish>> = {
  'a line of text': { answer: 'HTTP/1.1 400 Bad Request\r\n\r\n' },
  'binary bytes': { answer: Buffer.from([0, 255, 254, 13, 10, 7, 128, 42, 36, 0]) },
  'a null': { answer: '$-1\r\n' },
  'a status': { answer: '+OK\r\n', isLate: true },
  'two answers for one': { answer: '+OK\r\n+OK\r\n' },
  'no number': { answer: '*6\r\n:x\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n', isLate: true },
  'numbers out of range': { answer: `*6\r\n${':99999999999999999999999\r\n'.repeat(6)}`, isLate: true },
  'negative numbers': { answer: `*6\r\n${':-5\r\n'.repeat(6)}`, isLate: true },
  'too few numbers': { answer: '*2\r\n:1\r\n:1\r\n', isLate: true },
  'texts for numbers': { answer: `*6\r\n${'$1\r\n1\r\n'.repeat(6)}`, isLate: true },
  'a huge string': { answer: '$2147483647\r\n', endless: 'x'.repeat(65_536), isLate: true },
  'a string of more than all memory': {
    answer: '$99999999999999999999\r\n',
    endless: Buffer.alloc(65_536),
    isLate: true,
  },
  'a huge array': { answer: '*1000000000\r\n', endless: ':1\r\n'.repeat(16_384), isLate: true },
  'an array beyond all bounds': { answer: '*99999999999\r\n', isLate: true },
  'huge arrays in each other': { answer: '*30000000\r\n'.repeat(1_000), isLate: true },
  'deep arrays': { answer: '*1\r\n'.repeat(1_000_000), isLate: true },
  'arrays without a bottom': { answer: '*1\r\n', endless: '*1\r\n'.repeat(16_384), isLate: true },
  'a line without an end': { answer: '+', endless: 'x'.repeat(65_536), isLate: true },
  'an error without an end': { answer: '-ERR ', endless: Buffer.alloc(65_536, 'x') },
  'a number without an end': { answer: ':', endless: '1'.repeat(65_536), isLate: true },
  'answers without a question': { answer: '', endless: ':1\r\n'.repeat(16_384), isLate: true },
  'maps of another protocol': {
    answer: '%100000000\r\n',
    endless: '+a\r\n+b\r\n'.repeat(8_192),
    isLate: true,
  },
  'pushed messages': {
    answer: '>2\r\n+a\r\n+b\r\n',
    endless: '>2\r\n+a\r\n+b\r\n'.repeat(8_192),
    isLate: true,
  },
  'a big number': { answer: '(', endless: '1'.repeat(65_536), isLate: true },
  'redirections of a cluster': { answer: '-MOVED 1 127.0.0.1:1\r\n', isLate: true },
};

let redis: TestRedis;
let store: RubbishStore;
let origin: Origin;
let nodes: LimitNodes;

beforeAll(async () => {
  redis = await startRedis();
  store = await startRubbishStore(redis.port);
  origin = await startOrigin((_request, response) => response.end('ok'));
  const rate_limit = { enabled: true, requests: REQUESTS, window_seconds: 3_600 } as const;
  nodes = await startLimitNodes({
    redisUrls: [store.url],
    originPort: origin.port,
    policies: { limited: { rate_limit }, free: {} },
  });
}, 60_000);

afterAll(async () => {
  await nodes.close();
  await origin.close();
  await store.close();
  await redis.close();
});

const gateway = () => nodes.gateways[0]!;
const status = async (path: string): Promise<number> => (await fetch(`${gateway().proxy}${path}`)).status;

function memoryKib(): number {
  const text = readFileSync(`/proc/${gateway().process.pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+)/m.exec(text)?.[1]);
}

const failed = (): string[] =>
  gateway()
    .logs()
    .filter(
      ({ level, msg }) => level === 'fatal' || /defect|worker.*(?:died|ended|exit|stall)/i.test(String(msg)),
    )
    .map((line) => JSON.stringify(line));

describe('a store that answers with rubbish', () => {
  it.each(Object.entries(KINDS))('%s', { timeout: 60_000 }, async (_name, rubbish) => {
    const before = memoryKib();
    const connections = store.counts.connections;
    store.become(rubbish);
    const untilMs = performance.now() + KIND_MS;
    let most = 0;
    let slowestMs = 0;
    while (performance.now() < untilMs) {
      const askedMs = performance.now();
      expect(await status('/free/v1/x')).toBe(200);
      expect([200, 429, 503]).toContain(await status('/limited/v1/x'));
      slowestMs = Math.max(slowestMs, performance.now() - askedMs);
      most = Math.max(most, memoryKib() - before);
      await pause(20);
    }
    const tried = store.counts.connections - connections;
    expect(failed()).toEqual([]);
    expect(most).toBeLessThan(MEMORY_KIB_MAX);
    expect(slowestMs).toBeLessThan(1_500);
    expect(tried, 'it connects again').toBeGreaterThan(0);
    expect(tried, 'and not in a storm').toBeLessThan(100);
    expect(gateway().process.exitCode).toBeNull();
  });

  it('is used again when it is the real one', { timeout: 30_000 }, async () => {
    store.become(undefined);
    const codes = async (): Promise<string[]> =>
      ((await gateway().must('GET', '/problems')) as { code: string }[]).map(({ code }) => code);
    await expect.poll(codes, { timeout: 10_000 }).toEqual([]);
    // The worker may connect a moment later than the main thread, and has counted all that is allowed by itself.
    const afresh = (): Promise<number> => redis.command('FLUSHALL').then(() => status('/limited/v1/x'));
    await expect.poll(afresh, { timeout: 10_000, interval: 200 }).toBe(200);
    expect(await redis.command('DBSIZE')).toMatch(/^:[1-9]/);
  });
});
