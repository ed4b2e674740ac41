import { afterEach, describe, expect, it } from 'vitest';
import {
  appRecord,
  appTree,
  configChange,
  endpointRecord,
  revisionRecord,
  versionRecord,
  versionTree,
} from '../../../test/support/data/config-records.ts';
import { systemClock } from '../../lib/clock.ts';
import { createOwnPorts } from '../../egress/own-listeners.ts';
import { createLimitMemory } from '../../limits/local/memory.ts';
import type { ConfigChange } from '../../model/config.ts';
import type { App } from '../../model/resources.ts';
import { createLogger } from '../../observe/log.ts';
import { readSettings } from '../../settings/settings.ts';
import { ConfigState } from '../cluster/config-state.ts';
import { WaitingThread } from '../threads/waiting-thread.ts';
import { Supervisor } from './supervisor.ts';

/** How a worker of these tests reacts to a change. */
type Behaviour =
  | 'apply'
  | 'fail'
  | 'be silent'
  | 'not listen'
  | 'die'
  | 'report a failure'
  /** At any config version. */
  | 'fail to prepare'
  | 'prepare slowly'
  | 'prepare a while'
  /** Answers a request for a sample, then dies, at any config version. */
  | 'answer and die';

interface Rule {
  readonly worker: number;
  readonly configVersion: number;
  readonly does: Behaviour;
}

const APPLY_TIMEOUT_MS = 2_000;
const SLOWLY_MS = 2 * APPLY_TIMEOUT_MS + 500;

/** A worker program that follows protocol.ts with the given rules, and reports the messages it received. */
function program(rules: readonly Rule[]): URL {
  const source = `
    import { parentPort, receiveMessageOnPort, workerData as isTold } from 'node:worker_threads';
    Atomics.wait(isTold, 0, 0);
    const workerData = receiveMessageOnPort(parentPort).message;
    const rules = ${JSON.stringify(rules)};
    const worker = workerData.workerNumber;
    let listening = false;
    setInterval(() => Atomics.add(new Int32Array(workerData.heartbeat), 0, 1), 20).unref();
    const listen = () => {
      if (!listening) parentPort.postMessage({ type: 'listening', port: 1 });
      listening = true;
      parentPort.postMessage({ type: 'keys_used', used: { date: worker + ' listens' } });
    };
    parentPort.on('message', (message) => {
      if (message.type === 'drain') process.exit(0);
      if (message.type === 'listen') return listen();
      if (message.type === 'profile') return process.exit(1);
      if (message.type === 'sample') {
        if (rules.some((rule) => rule.worker === worker && rule.does === 'be silent')) return;
        parentPort.postMessage({ type: 'sample', id: message.id, sample: { worker } });
        if (rules.some((rule) => rule.worker === worker && rule.does === 'answer and die')) process.exit(1);
      }
      if (message.type === 'prepare') {
        parentPort.postMessage({ type: 'keys_used', used: { date: worker + ' prepares ' + message.parts.length } });
        const how = rules.find((rule) => rule.worker === worker && rule.does.includes('prepare'))?.does;
        const error = how === 'fail to prepare' ? 'refused by a test' : undefined;
        const answer = () => {
          if (how === 'prepare a while') parentPort.postMessage({ type: 'keys_used', used: { date: worker + ' is ready' } });
          parentPort.postMessage({ type: 'applied', id: message.id, error });
        };
        const afterMs = { 'prepare slowly': ${SLOWLY_MS}, 'prepare a while': 200 + 200 * worker }[how];
        return afterMs === undefined ? answer() : setTimeout(answer, afterMs);
      }
      if (message.type !== 'apply') return;
      if (message.change === undefined) {
        parentPort.postMessage({ type: 'keys_used', used: { date: worker + ' applies what it prepared' } });
        return parentPort.postMessage({ type: 'applied', id: message.id });
      }
      const { configVersion, reset, apps } = message.change;
      const does = rules.find((rule) => rule.worker === worker && rule.configVersion === configVersion)?.does;
      parentPort.postMessage({ type: 'keys_used', used: { date: worker + (reset ? ' seeded ' : ' given ') + configVersion } });
      if (apps.length > 0) parentPort.postMessage({ type: 'keys_used', used: { date: worker + ' compiles' } });
      if (does === 'be silent') return;
      if (does === 'not listen') return parentPort.postMessage({ type: 'listen_failed', message: 'no port' });
      const error = does === 'fail' ? 'refused by a test' : undefined;
      parentPort.postMessage({ type: 'applied', id: message.id, error });
      if (does === 'report a failure') return parentPort.postMessage({ type: 'failed', error: new Error('thrown') });
      if (does === 'die') throw new Error('died');
      if (!listening && !workerData.isSpare) listen();
    });`;
  return new URL(`data:text/javascript,${encodeURIComponent(source)}`);
}

/** Threads start slowly on a busy machine. */
const PATIENCE = { timeout: 15_000 };

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

function supervise(
  rules: readonly Rule[],
  timeouts: {
    applyTimeoutMs?: number;
    startTimeoutMs?: number;
    spareDelayMs?: number;
    processors?: number;
    waiting?: WaitingThread[];
  } = {},
  workers = 2,
) {
  const settings = readSettings({
    GATEWAY_WORKERS: String(workers),
    GATEWAY_PROXY__PORT: '8080',
    GATEWAY_WORKER_SPARE: String(timeouts.spareDelayMs !== undefined),
  });
  if (!('settings' in settings)) throw new Error(settings.errors.join());
  const told: string[] = [];
  const lost: number[] = [];
  const lines: string[] = [];
  const supervisor = new Supervisor({
    version: '0.0.0',
    settings: settings.settings,
    clock: systemClock,
    firstUpdates: { certificates: undefined, clientCertificates: new Map(), trusted: new Map() },
    limitMemory: createLimitMemory(),
    ownPorts: createOwnPorts(),
    viaName: 'headgate-test',
    state: new ConfigState(),
    log: createLogger({
      level: 'info',
      format: 'json',
      output: { write: (line) => void lines.push(line) },
      clock: systemClock,
    }),
    processors: timeouts.processors ?? 4,
    workerUrl: program(rules),
    onStats: () => undefined,
    onKeysUsed: ({ date }) => told.push(date),
    onLimitReached: () => undefined,
    onDeprecatedUsed: () => undefined,
    onHealth: () => undefined,
    onShadowDenials: () => undefined,
    explainSetup: () => ({ sampling: undefined, debugTokens: [], watches: [] }),
    onLive: () => undefined,
    onRingFills: () => undefined,
    onWorkerLost: (worker) => {
      lost.push(worker);
      told.push(`${worker} lost`);
    },
    ...timeouts,
  });
  stops.push(() => supervisor.stop(5_000));
  return { supervisor, told, lost, lines };
}

const change = (configVersion: number) => configChange(configVersion, {});

/** An app with that many endpoints. */
function largeChange(configVersion: number, app: Partial<App> = {}, count = 500) {
  const endpoints = Array.from({ length: count }, (_, index) => endpointRecord({ path: `/${index}` }));
  const tree = { revision: revisionRecord({ id: 'r' }), endpoints };
  const version = versionTree(versionRecord({ id: 'v', app_id: 'a' }), tree);
  return configChange(configVersion, { apps: [appTree(appRecord({ id: 'a', ...app }), version)] });
}

describe('samples', () => {
  it('of a worker that has ended meanwhile are left out: they were counted at its end', async () => {
    const { supervisor, lost } = supervise([
      { worker: 1, configVersion: -1, does: 'answer and die' },
      { worker: 2, configVersion: -1, does: 'be silent' },
    ]);
    await supervisor.start();
    expect(await supervisor.questions.samples()).toEqual([]);
    expect(lost).toEqual([1]);
  });
});

describe('a profile', () => {
  it('of a worker that ends meanwhile ends with it, and there is none of a worker that is not there', async () => {
    const { supervisor } = supervise([]);
    await supervisor.start();
    const task = { kind: 'heap', seconds: 1 } as const;
    const problem = new Promise((resolve) => {
      supervisor.questions.profile(2, task, { chunk: () => undefined, end: resolve });
    });
    expect(await problem).toBe('its worker has ended');
    expect(
      supervisor.questions.profile(2, task, { chunk: () => undefined, end: () => undefined }),
    ).toBeUndefined();
  });
});

describe('a change', () => {
  it('is in every worker when it is applied', async () => {
    const { supervisor, told } = supervise([]);
    await supervisor.start();
    await supervisor.apply(change(1));
    expect(told.filter((line) => !line.includes('listens')).sort()).toEqual([
      '1 given 1',
      '1 seeded 0',
      '2 given 1',
      '2 seeded 0',
    ]);
  });

  it.each(['fail', 'be silent'] as const)(
    'ends a worker that should %s, and its replacement starts with the change',
    async (does) => {
      const { supervisor, told, lost, lines } = supervise([{ worker: 2, configVersion: 1, does }], {
        applyTimeoutMs: 2_000,
      });
      await supervisor.start();
      await supervisor.apply(change(1));
      // After the answer, no worker serves the old state.
      expect(lost).toEqual([2]);
      await expect.poll(() => supervisor.listeningCount, PATIENCE).toBe(2);
      expect(told).toContain('3 seeded 1');
      expect(lines.join()).toContain('a proxy worker failed to apply a change');
      await supervisor.apply(change(2));
      expect(told).toEqual(expect.arrayContaining(['1 given 2', '3 given 2']));
    },
  );

  it('waits for starting workers, which get it after all earlier changes', async () => {
    const { supervisor, told, lost } = supervise([]);
    const started = supervisor.start();
    await Promise.all([supervisor.apply(change(1)), supervisor.apply(change(2))]);
    for (const worker of [1, 2]) {
      const given = told.filter((line) => line.startsWith(`${worker} `) && !line.includes('listens'));
      expect(given).toEqual([`${worker} seeded 0`, `${worker} given 1`, `${worker} given 2`]);
    }
    await started;
    expect(lost).toEqual([]);
  });
});

describe('a large change', () => {
  const prepareAndApply = async (supervisor: Supervisor, given: ConfigChange) =>
    supervisor.apply(given, await supervisor.prepare(given));

  it('is compiled by every worker before one applies it', async () => {
    const { supervisor, told } = supervise([]);
    await supervisor.start();
    await prepareAndApply(supervisor, largeChange(1));
    const given = told.filter((line) => !line.includes('listens') && !line.includes('seeded'));
    expect(given.slice(0, 2).sort()).toEqual(['1 prepares 3', '2 prepares 3']);
    expect(given.slice(2).sort()).toEqual(['1 applies what it prepared', '2 applies what it prepared']);
  });

  it.each([
    [1, 1],
    [2, 1],
    [3, 2],
  ])(
    'is compiled by few workers at once, so that one of %i processors is left for requests',
    async (processors, atOnceMax) => {
      const slowly = [1, 2, 3].map((worker): Rule => ({ worker, configVersion: 1, does: 'prepare a while' }));
      const { supervisor, told } = supervise(slowly, { spareDelayMs: 0, processors });
      await supervisor.start();
      await expect.poll(() => told, PATIENCE).toContain('3 seeded 0');
      await supervisor.apply(change(1));
      await expect.poll(() => told, PATIENCE).toContain('3 given 1');
      told.length = 0;
      await prepareAndApply(supervisor, largeChange(2));
      const seen = told.filter((line) => / prepares | is ready/.test(line));
      // Workers that compile at once tell of it in any order.
      const atOnce = seen.map((_, end) =>
        seen.slice(0, end + 1).reduce((sum, line) => sum + (line.endsWith(' is ready') ? -1 : 1), 0),
      );
      expect(Math.max(...atOnce)).toBe(atOnceMax);
      expect(seen.toSorted()).toEqual(
        [1, 2, 3].flatMap((worker) => [`${worker} is ready`, `${worker} prepares 3`]),
      );
      const applied = told.filter((line) => line.endsWith('applies what it prepared'));
      expect(told.indexOf(applied[0] ?? '')).toBeGreaterThan(told.lastIndexOf(seen.at(-1) ?? ''));
    },
  );

  it('with nothing that is compiled is sent without it', async () => {
    const { supervisor, told } = supervise([], {}, 1);
    await supervisor.start();
    await prepareAndApply(supervisor, largeChange(1));
    told.length = 0;
    await prepareAndApply(supervisor, largeChange(2, { description: 'new' }));
    expect(told).toEqual(['1 given 2']);
  });

  it('ends a worker that fails to prepare it, and its replacement starts with the change', async () => {
    const { supervisor, told, lost, lines } = supervise([
      { worker: 2, configVersion: 1, does: 'fail to prepare' },
    ]);
    await supervisor.start();
    const given = largeChange(1);
    const prepared = await supervisor.prepare(given);
    expect(lost).toEqual([2]);
    expect(lines.join()).toContain('a proxy worker failed to apply a change');
    await supervisor.apply(given, prepared);
    await expect.poll(() => supervisor.listeningCount, PATIENCE).toBe(2);
    expect(told).toContain('1 applies what it prepared');
    expect(told.filter((line) => line.startsWith('3 ') && !line.includes('listens'))).toEqual(
      told.includes('3 seeded 1') ? ['3 seeded 1', '3 compiles'] : ['3 seeded 0', '3 given 1', '3 compiles'],
    );
  });

  it('is also in a worker that starts while the others prepare it', async () => {
    const { supervisor, told } = supervise(
      [{ worker: 1, configVersion: 1, does: 'prepare slowly' }],
      { spareDelayMs: 500 },
      1,
    );
    await supervisor.start();
    await prepareAndApply(supervisor, largeChange(1));
    const given = (): string[] => told.filter((line) => line.startsWith('2 '));
    // On a slow machine it may start after the change was prepared.
    await expect
      .poll(() => given().join(', '), PATIENCE)
      .toMatch(
        /^2 seeded 0, 2 prepares 3, 2 applies what it prepared$|^2 seeded (0, 2 given 1|1), 2 compiles$/,
      );
  });

  it('may take a worker longer than a timeout, as long as its event loop runs', async () => {
    const { supervisor, told, lost } = supervise(
      [{ worker: 1, configVersion: 1, does: 'prepare slowly' }],
      { applyTimeoutMs: APPLY_TIMEOUT_MS },
      1,
    );
    await supervisor.start();
    await prepareAndApply(supervisor, largeChange(1));
    expect(lost).toEqual([]);
    expect(told).toContain('1 applies what it prepared');
  });
});

describe('a worker that cannot listen', () => {
  it('is ended if it is a replacement, before the next one starts', async () => {
    const { supervisor, told, lost } = supervise([
      { worker: 2, configVersion: 1, does: 'fail' },
      { worker: 3, configVersion: 1, does: 'not listen' },
      { worker: 4, configVersion: 1, does: 'not listen' },
    ]);
    await supervisor.start();
    await supervisor.apply(change(1));
    await expect.poll(() => supervisor.listeningCount, PATIENCE).toBe(2);
    expect(told).toContain('5 seeded 1');
    expect(lost).toEqual([2, 3, 4]);
  });

  it('fails the first start with its error', async () => {
    const { supervisor } = supervise([{ worker: 1, configVersion: 0, does: 'not listen' }]);
    await expect(supervisor.start()).rejects.toThrow('no port');
  });

  it('is ended after a timeout', async () => {
    const { supervisor } = supervise([{ worker: 2, configVersion: 0, does: 'be silent' }], {
      startTimeoutMs: 3_000,
    });
    await expect(supervisor.start()).rejects.toThrow('Worker 2 did not listen within 3000 ms');
  });
});

describe('a thread that has loaded before', () => {
  it('is used; one that could not load is replaced', async () => {
    const loaded = new WaitingThread(program([]), 'loaded', 2);
    const broken = new WaitingThread(new URL('data:text/javascript,throw 1'), 'broken', 2);
    await expect.poll(() => broken.hasEnded, PATIENCE).toBe(true);
    const { supervisor, told } = supervise([], { waiting: [broken, loaded] });
    await supervisor.start();
    expect(supervisor.listeningCount).toBe(2);
    await expect.poll(() => told, PATIENCE).toEqual(expect.arrayContaining(['1 listens', '2 listens']));
    expect(loaded.hasEnded).toBe(false);
    await supervisor.stop(0);
    expect(loaded.hasEnded).toBe(true);
  });
});

describe('a spare worker', () => {
  const ready = { spareDelayMs: 0 };

  it('gets the configuration and every change, and listens only when another worker is lost', async () => {
    const { supervisor, told, lost } = supervise([{ worker: 1, configVersion: 2, does: 'die' }], ready, 1);
    await supervisor.start();
    await expect.poll(() => told, PATIENCE).toContain('2 seeded 0');
    await supervisor.apply(change(1));
    await expect.poll(() => told, PATIENCE).toContain('2 given 1');
    expect(supervisor.listeningCount).toBe(1);
    expect(told).not.toContain('2 listens');

    await supervisor.apply(change(2));
    await expect.poll(() => told, PATIENCE).toContain('2 listens');
    expect(told.indexOf('2 given 2')).toBeLessThan(told.indexOf('2 listens'));
    expect(supervisor.listeningCount).toBe(1);
    expect(lost).toEqual([1]);
    // There is a new spare afterwards.
    await expect.poll(() => told, PATIENCE).toContain('3 seeded 2');
    expect(told).not.toContain('3 listens');
  });

  it('listens before a failed worker ends', async () => {
    const { supervisor, told, lost, lines } = supervise(
      [{ worker: 1, configVersion: 1, does: 'report a failure' }],
      ready,
      1,
    );
    await supervisor.start();
    await expect.poll(() => told, PATIENCE).toContain('2 seeded 0');
    await supervisor.apply(change(1));
    await expect.poll(() => lost, PATIENCE).toEqual([1]);
    expect(told).toContain('2 listens');
    expect(told.indexOf('2 listens')).toBeLessThan(told.indexOf('1 lost'));
    expect(lines.join()).toMatch(/"thrown".*a proxy worker died and is replaced/);
    expect(supervisor.listeningCount).toBe(1);
  });

  it('that dies is replaced without an effect on the other workers', async () => {
    const { supervisor, told, lost } = supervise(
      [{ worker: 2, configVersion: 0, does: 'not listen' }],
      ready,
      1,
    );
    await supervisor.start();
    await expect.poll(() => told, PATIENCE).toContain('3 seeded 0');
    expect(lost).toEqual([2]);
    expect(supervisor.listeningCount).toBe(1);
    await supervisor.apply(change(1));
    expect(lost).toEqual([2]);
  });

  it('does not delay a change', async () => {
    const { supervisor, told } = supervise(
      [{ worker: 2, configVersion: 1, does: 'be silent' }],
      { ...ready, applyTimeoutMs: 60_000, startTimeoutMs: 60_000 },
      1,
    );
    await supervisor.start();
    await expect.poll(() => told, PATIENCE).toContain('2 seeded 0');
    await supervisor.apply(change(1));
    await expect.poll(() => told, PATIENCE).toContain('2 given 1');
  });
});
