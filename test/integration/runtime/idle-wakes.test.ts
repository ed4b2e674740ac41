/** How often an idle gateway wakes: what it costs a machine on which it has nothing to do. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startGateway } from '../../support/gateway.ts';

/** What follows a start, such as the return of memory, is over. */
const SETTLED_MS = 5_000;
/** Beside other programs a worker wakes up to 51 times a second, and all threads 83 times. */
const MEASURED_SECS = 5;

/** How often each kind of thread has gone to sleep so far (proc_pid_status(5)). */
function sleeps(pid: number): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'latin1');
    const name = /^Name:\t(.*)$/m.exec(status)?.[1] ?? '';
    const count = Number(/^voluntary_ctxt_switches:\t(\d+)$/m.exec(status)?.[1]);
    counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return counts;
}

it('an idle gateway wakes fewer than 95 times a second, its worker fewer than 65 times', async () => {
  const gateway = await startGateway();
  try {
    const pid = gateway.process.pid ?? 0;
    await delay(SETTLED_MS);
    const before = sleeps(pid);
    await delay(MEASURED_SECS * 1_000);
    const each = [...sleeps(pid)].map(([name, count]) => {
      return [name, (count - (before.get(name) ?? 0)) / MEASURED_SECS] as const;
    });
    expect(Object.fromEntries(each)['proxy-1']).toBeGreaterThan(1);
    expect(Object.fromEntries(each)['proxy-1']).toBeLessThan(65);
    expect(
      each.reduce((sum, [, perSec]) => sum + perSec, 0),
      JSON.stringify(each),
    ).toBeLessThan(95);
  } finally {
    await gateway.stop();
  }
});
