/**
 * kill -9 in the middle of an apply, again and again: after the restart the configuration is that of before the apply
 * or that of after it, as a whole, and never older than what was answered. Six kills as an ordinary test, fifty as a
 * soak.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../support/gateway.ts';

/** Gateways that are killed at the same time: most of it is waiting for starts. */
const LANES = 2;
const APPS = 3;
const ENDPOINTS_PER_APP = 100;

/** Every record says which state it belongs to; each state also has endpoints, a key and a version of its own. */
function tree(state: number): Record<string, unknown> {
  const apps: Record<string, unknown> = {};
  for (let app = 0; app < APPS; app += 1) {
    const endpoints: Record<string, object> = { [`GET /only/${state}`]: {} };
    for (let index = 0; index < ENDPOINTS_PER_APP; index += 1) {
      endpoints[`GET /things/${index}/{id}`] = { backend_path: `/state-${state}/${index}` };
    }
    const r1 = { backend_host: `state-${state}.test`, is_current: true, endpoints };
    apps[`app-${app}`] = {
      gateway_path: `/app-${app}`,
      description: `state ${state}`,
      labels: { owner: 'test' },
      versions: { v1: { revisions: { r1 } }, [`v-${state}`]: {} },
      keys: { [`key-${state}`]: {} },
    };
  }
  return apps;
}

const applied = (gateway: TestGateway, state: number) =>
  gateway.api('POST', '/config/apply', { config: { owner: 'test', apps: tree(state) }, max_deletes: 1_000 });

/** Kills as often as it is told. Returns how many applies were not answered. */
async function killApplies(kills: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-kill-apply-'));
  const env = { GATEWAY_LOG__ACCESS: 'false' };
  let gateway = await startGateway({ folder, env });
  try {
    const startedMs = performance.now();
    expect((await applied(gateway, 0)).status).toBe(200);
    let applyMs = performance.now() - startedMs;
    let stored = 0;
    let unanswered = 0;
    for (let state = 1; state <= kills; state += 1) {
      const sentMs = performance.now();
      const answer = applied(gateway, state).then(
        ({ status }) => {
          applyMs = performance.now() - sentMs;
          return status;
        },
        () => undefined,
      );
      await delay(Math.random() * applyMs);
      await gateway.kill();
      const status = await answer;
      expect([200, undefined]).toContain(status);
      if (status === undefined) unanswered += 1;
      gateway = await startGateway({ folder, env });
      const { config } = await gateway.must('GET', '/config');
      const isNew = JSON.stringify(config).includes(`state ${state}`);
      if (status === 200) expect(isNew, `state ${state} was answered`).toBe(true);
      if (isNew) stored = state;
      expect(config).toEqual({ apps: tree(stored) });
    }
    return unanswered;
  } finally {
    await gateway.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param kills an even number */
export function killedApplies(kills: number): void {
  it(
    `after ${kills} kills in the middle of an apply no state is half applied`,
    { timeout: 300_000 },
    async () => {
      const lanes = await Promise.all(Array.from({ length: LANES }, () => killApplies(kills / LANES)));
      const unanswered = lanes.reduce((sum, count) => sum + count, 0);
      expect(unanswered, 'kills in the middle of an apply').toBeGreaterThan(kills / 2);
    },
  );
}
