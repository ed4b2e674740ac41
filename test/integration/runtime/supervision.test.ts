/**
 * A worker that dies is replaced: the ways in which a worker can be lost, as clients see them. Replacement is asserted
 * with time to spare; what matters is that it comes by itself and that its cause is logged.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { crashWorkers, LITTLE_MEMORY, type Mishap } from '../../support/programs/crash-worker.ts';
import { Inspector, INSPECTABLE } from '../../support/programs/inspector.ts';
import { startGateway, WITH_SPARE, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { createService, request, revisionPath } from '../../support/traffic.ts';
import { untilSettled } from '../../support/measure/settled-threads.ts';
import { until } from '../../support/measure/until.ts';

const TIMEOUT = { timeout: 90_000 };

let origin: Origin;
let gateway: TestGateway | undefined;

beforeAll(async () => {
  origin = await startOrigin();
});
afterAll(() => origin.close());
afterEach(async () => {
  await gateway?.kill();
});

type Line = Record<string, unknown>;
const lines = (message: string): Line[] => gateway?.logs().filter(({ msg }) => msg === message) ?? [];
const logged = (message: string): number => lines(message).length;

describe('a worker that is lost', () => {
  it.each<[Mishap, Readonly<Record<string, string>>, died: Line, stalls: readonly Line[]]>([
    ['exception', {}, { err: { message: 'crashed by a test' } }, []],
    ['out of memory', LITTLE_MEMORY, { err: { code: 'ERR_WORKER_OUT_OF_MEMORY' } }, []],
    ['endless loop', {}, {}, [{ stall: 'computing' }]],
  ])(
    'by an %s is replaced, also when it was the only one, and the process lives',
    TIMEOUT,
    async (mishap, env, died, stalls) => {
      const running = await startGateway({ env: { GATEWAY_WORKERS: '1', ...INSPECTABLE, ...env } });
      gateway = running;
      await createService(running, 'a', origin.port);
      expect((await request(running, '/a/v1/x')).status).toBe(200);

      await crashWorkers(running, (title) => title.endsWith('proxy-1'), mishap);
      expect(await until(() => logged('a proxy worker died and is replaced') || undefined, 30_000)).toBe(1);
      await until(async () => {
        const response = await request(running, '/a/v1/x').catch(() => undefined);
        return response?.status === 200;
      }, 30_000);

      // The cause is told.
      expect(lines('a proxy worker died and is replaced')).toMatchObject([died]);
      expect(lines('a proxy worker is stuck and is being stopped')).toMatchObject(stalls);
      expect(running.process.exitCode).toBeNull();
      expect(await running.must('GET', '/problems')).toContainEqual(
        expect.objectContaining({
          code: 'worker_lost',
          severity: 'warning',
          detail: expect.stringMatching(/^(?:1 worker|\d workers) died or got stuck/),
        }),
      );
      // The new one takes part in changes.
      await running.must('PATCH', revisionPath('a'), { backend_base_path: '/b' });
      expect((await request(running, '/a/v1/x')).status).toBe(200);
      expect(origin.seen.at(-1)?.url).toBe('/b/x');
    },
  );

  it('is not mistaken for one that is merely busy with traffic or at rest', TIMEOUT, async () => {
    const running = await startGateway({
      env: { GATEWAY_WORKERS: '2', ...WITH_SPARE },
    });
    gateway = running;
    await createService(running, 'a', origin.port);
    const endMs = performance.now() + 1_500;
    while (performance.now() < endMs) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => request(running, '/a/v1/x')));
      expect(answers.every(({ status }) => status === 200)).toBe(true);
    }
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(logged('a proxy worker is stuck and is being stopped')).toBe(0);
    expect(logged('a proxy worker died and is replaced')).toBe(0);
  });
});

describe('a defect on the main thread', () => {
  it(
    'that ends in an uncaught exception or an unhandled rejection is told, and the process lives',
    TIMEOUT,
    async () => {
      const running = await startGateway({ env: INSPECTABLE });
      gateway = running;
      await createService(running, 'a', origin.port);
      const inspector = await Inspector.open(running);
      for (const [end, expression] of [
        ['uncaught exception', "setImmediate(() => { throw new Error('thrown by a test'); })"],
        ['unhandled rejection', "void Promise.reject(new Error('thrown by a test'))"],
      ] as const) {
        inspector.run('', expression);
        await until(() => logged(`a defect: ${end}`) > 0);
        expect(lines(`a defect: ${end}`)).toMatchObject([
          { level: 'error', err: { message: 'thrown by a test' } },
        ]);
        expect(running.process.exitCode).toBeNull();
        // It still writes, and the workers hear of it.
        const path = `/after-${end.split(' ')[1]}`;
        await running.must('PATCH', revisionPath('a'), { backend_base_path: path });
        expect((await request(running, '/a/v1/x')).status).toBe(200);
        expect(origin.seen.at(-1)?.url).toBe(`${path}/x`);
      }
      inspector.close();
      expect(await running.stop()).toBe(0);
    },
  );

  it('is followed by one that stood by and hardly used the processor', TIMEOUT, async () => {
    const running = await startGateway({ env: { GATEWAY_WORKERS: '1', ...WITH_SPARE } });
    gateway = running;
    await untilSettled(running);
    const inSecond = async (): Promise<number> => {
      const before = switchesOf(running, 'proxy-2');
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return switchesOf(running, 'proxy-2') - before;
    };
    // It tells ten times a second that it lives. What belongs to its start may still be under way.
    expect(await until(async () => (await inSecond()) < 30, 20_000)).toBe(true);
  });
});

/** How often a thread has gone to sleep (proc_pid_status(5), voluntary_ctxt_switches). */
function switchesOf({ process: { pid } }: TestGateway, thread: string): number {
  const tasks = readdirSync(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}`);
  const task = tasks.find((path) => readFileSync(`${path}/comm`, 'utf8').trim() === thread);
  const status = readFileSync(`${task}/status`, 'utf8');
  return Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1]);
}
