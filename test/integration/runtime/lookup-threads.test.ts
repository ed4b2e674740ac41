/**
 * The threads in which the system looks names up: names that get no answer keep some of them, so that there must be
 * more than workers can fill (src/egress/name-queries.ts).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { startGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { createService, request } from '../../support/traffic.ts';

const closers = closeAfterEach();

function lookupThreads(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).filter(
    (task) => readFileSync(`${tasks}/${task}/comm`, 'latin1').trim() === 'libuv-worker',
  ).length;
}

it('are more than those of Node, unless the environment says how many', async () => {
  for (const [env, count] of [
    [{}, 36 * (availableParallelism() + 2)],
    [{ UV_THREADPOOL_SIZE: '6' }, 6],
  ] as const) {
    const gateway = await startGateway({ env });
    closers.push(() => gateway.stop());
    await createService(gateway, 'a', 1, { revision: { backend_host: 'localhost' } });
    expect((await request(gateway, '/a/v1/x')).status).toBe(502);
    await until(() => lookupThreads(gateway.process.pid ?? 0) === count);
  }
});
