/**
 * An apply of 1,000 changes among 10,000 endpoints costs what it changes, and little memory. Figures of a quiet machine
 * come from bench/declared-config.ts; here the same machine and minute are the measure: what it takes to make it all.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { watchMemory } from '../../support/measure/process-memory.ts';

const ENDPOINTS = 10_000;
const CHANGES = 1_000;
const APPS = 10;
const GROWTH_BYTES_MAX = 256 * 1_048_576;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_WORKERS: '2' } });
});
afterAll(() => gateway.stop());

function tree(changed: number): object {
  const perApp = ENDPOINTS / APPS;
  const apps = Array.from({ length: APPS }, (_, app) => {
    const endpoints = Object.fromEntries(
      Array.from({ length: perApp }, (_each, index) => [
        `GET /things/${index}/{id}`,
        app * perApp + index < changed ? { is_active: false } : {},
      ]),
    );
    const r1 = { backend_host: 'backend.test', is_current: true, endpoints };
    return [`app-${app}`, { gateway_path: `/app-${app}`, versions: { v1: { revisions: { r1 } } } }];
  });
  return Object.fromEntries(apps) as object;
}

async function apply(changed: number): Promise<{ readonly ms: number; readonly totals: unknown }> {
  const startedMs = performance.now();
  const { totals } = await gateway.must('POST', '/config/apply', { config: { apps: tree(changed) } });
  return { ms: performance.now() - startedMs, totals };
}

it('costs far less than making all of it', { timeout: 180_000 }, async () => {
  const first = await apply(0);
  expect(first.totals).toEqual({ create: ENDPOINTS + 3 * APPS, update: 0, delete: 0 });
  const times: number[] = [];
  const memory = await watchMemory(gateway.process.pid ?? 0, async () => {
    for (const changed of [CHANGES, 0, CHANGES]) {
      const { ms, totals } = await apply(changed);
      expect(totals).toEqual({ create: 0, update: CHANGES, delete: 0 });
      times.push(ms);
    }
  });
  expect(Math.min(...times)).toBeLessThan(first.ms / 2);
  expect(memory.peakBytes - memory.beforeBytes).toBeLessThan(GROWTH_BYTES_MAX);
});
