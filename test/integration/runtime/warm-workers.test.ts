/**
 * A full collection of garbage in a worker without connections discards the code that V8 has compiled for its
 * traffic: the next burst of requests would begin slowly.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startOrigin } from '../../support/backends/origin.ts';
import { flood } from '../../support/clients/load.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { MAIN, START_FLAGS, startGateway, type TestGateway } from '../../support/gateway.ts';
import { createService } from '../../support/traffic.ts';

/** A thread that may gives memory back five seconds after a change, and the main thread does after the start. */
const REST_MS = 7_000;
/** Of a second: a machine that is used by others serves a tenth of what it can. */
const ROUNDS_MAX = 60;

const closers = closeAfterEach();

/** Full collections outside of the main thread, which is the first to collect at all. */
function collections(gateway: TestGateway): readonly string[] {
  const lines = gateway
    .output()
    .split('\n')
    .filter((line) => /^\[\d+:0x/.test(line));
  const threadOf = (line: string): string => line.slice(0, line.indexOf(']'));
  const main = threadOf(lines[0] ?? '');
  return lines.filter((line) => line.includes('Mark-Compact (reduce)') && threadOf(line) !== main);
}

it(
  'a worker that has served traffic keeps its compiled code while it rests',
  { timeout: 150_000 },
  async () => {
    const origin = await startOrigin();
    closers.push(() => origin.close());
    const gateway = await startGateway({
      command: [process.execPath, ...START_FLAGS, '--trace-gc', MAIN],
      env: { GATEWAY_WORKERS: '1' },
    });
    closers.push(() => gateway.kill());
    await createService(gateway, 'a', origin.port);
    let served = 0;
    for (let round = 0; served < 20_000 && round < ROUNDS_MAX; round++)
      served += (await flood(gateway, '/a/v1/x', { connections: 16, seconds: 1 })).requests;
    expect(served).toBeGreaterThanOrEqual(20_000);
    const before = collections(gateway);
    await gateway.must('PATCH', '/apps/a', { description: 'changed' });
    await pause(REST_MS);
    expect(collections(gateway)).toEqual(before);
  },
);
