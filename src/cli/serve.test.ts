import { afterEach, describe, expect, it } from 'vitest';
import { runUntilSignal, type Running } from './serve.ts';
import type { ServiceManager } from './service-manager.ts';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGUSR2', 'SIGHUP'] as const;
const ours: (() => void)[] = [];
afterEach(() => {
  for (const remove of ours.splice(0)) remove();
});

function managerOf(notices: string[]): ServiceManager {
  return {
    isPresent: false,
    ready: () => void notices.push('ready'),
    reloading: () => void notices.push('reloading'),
    stopping: () => void notices.push('stopping'),
  };
}

/** A gateway that runs, signals that reach it alone, and a clock that the test moves. */
async function serve(
  gateway: Partial<Running> = {},
  { hasFiles = false, started = Promise.resolve(), givesUp = false, notices = [] as string[] } = {},
) {
  const before = new Set(SIGNALS.flatMap((signal) => process.listeners(signal)));
  const stopped = Promise.withResolvers<void>();
  const told: NodeJS.Signals[] = [];
  let stops = 0;
  let nowMs = 0;
  let exitCode: number | undefined;
  const stop = (): Promise<void> => {
    stops += 1;
    return stopped.promise;
  };
  const running: Running = { takeover: async () => undefined, stop, ...gateway };
  const ended = runUntilSignal(
    async (stopping) => {
      await started;
      if (givesUp) stopping.throwIfAborted();
      return running;
    },
    {
      onSignal: (signal) => told.push(signal),
      monotonicMs: () => nowMs,
      hasFiles,
      service: managerOf(notices),
    },
  ).then((code) => (exitCode = code));
  const turn = (): Promise<void> => new Promise((done) => setImmediate(done));
  await turn();
  const listenersOf = (signal: NodeJS.Signals): NodeJS.SignalsListener[] =>
    process.listeners(signal).filter((listener) => !before.has(listener));
  for (const signal of SIGNALS)
    for (const listener of listenersOf(signal)) ours.push(() => process.off(signal, listener));
  return {
    told,
    ended,
    stopped,
    stops: () => stops,
    exitCode: () => exitCode,
    listens: (signal: NodeJS.Signals) => listenersOf(signal).length,
    /** @param atMs time of the clock */
    signal: async (signal: NodeJS.Signals, atMs: number) => {
      nowMs = atMs;
      for (const listener of listenersOf(signal)) listener(signal);
      await turn();
    },
  };
}

describe('headgate start', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('stops once at %s, and ends with 0 when it has', async (name) => {
    const { signal, told, stops, stopped, ended, exitCode } = await serve();
    await signal(name, 0);
    expect([told, stops(), exitCode()]).toEqual([[name], 1, undefined]);
    stopped.resolve();
    expect(await ended).toBe(0);
  });

  it('ends with 0 when a start is given up because of a signal', async () => {
    const started = Promise.withResolvers<void>();
    const { signal, ended, stops } = await serve({}, { started: started.promise, givesUp: true });
    await signal('SIGTERM', 0);
    started.resolve();
    expect([await ended, stops()]).toEqual([0, 0]);
  });

  it('ends with 130 at the third Ctrl-C, told to stop once', async () => {
    const { signal, told, stops, exitCode } = await serve();
    await signal('SIGINT', 0);
    await signal('SIGINT', 1_001);
    expect(exitCode()).toBeUndefined();
    await signal('SIGINT', 2_002);
    expect([told, stops(), exitCode()]).toEqual([['SIGINT'], 1, 130]);
  });

  it('counts a Ctrl-C that comes twice, from the terminal and from npm, as one', async () => {
    const { signal, exitCode } = await serve();
    for (const atMs of [0, 30, 1_500, 1_530]) await signal('SIGINT', atMs);
    expect(exitCode()).toBeUndefined();
    await signal('SIGINT', 3_000);
    expect(exitCode()).toBe(130);
  });

  it('goes on to drain however often it is asked by SIGTERM', async () => {
    const { signal, stops, stopped, ended, exitCode } = await serve();
    for (let turn = 0; turn < 10; turn++) await signal('SIGTERM', turn * 5_000);
    expect([stops(), exitCode()]).toEqual([1, undefined]);
    stopped.resolve();
    expect(await ended).toBe(0);
  });

  it.each([0, 1, 2, 3])('tells how often SIGUSR2 came during the start: %i times', async (sent) => {
    const started = Promise.withResolvers<void>();
    const told: number[] = [];
    const takeover = async (signals: number): Promise<void> => void told.push(signals);
    const { signal, listens } = await serve({ takeover }, { started: started.promise });
    expect(listens('SIGUSR2'), 'without a listener it ends the process').toBe(1);
    for (let time = 0; time < sent; time++) await signal('SIGUSR2', 0);
    expect(told).toEqual([]);
    started.resolve();
    const ofStart = sent === 0 ? [] : [sent];
    await expect.poll(() => told).toEqual(ofStart);
    await signal('SIGUSR2', 0);
    expect(told).toEqual([...ofStart, 1]);
  });

  it('remembers a SIGHUP of the start, and reads the files once when it has started', async () => {
    const started = Promise.withResolvers<void>();
    let reads = 0;
    const reload = async (): Promise<void> => void (reads += 1);
    const { signal, listens } = await serve({ reload }, { hasFiles: true, started: started.promise });
    expect(listens('SIGHUP')).toBe(1);
    await signal('SIGHUP', 0);
    await signal('SIGHUP', 0);
    expect(reads).toBe(0);
    started.resolve();
    await expect.poll(() => reads).toBe(1);
    await signal('SIGHUP', 0);
    expect(reads).toBe(2);
  });

  it('does not call itself ready while it stops, though files are still being read', async () => {
    const read = Promise.withResolvers<void>();
    const notices: string[] = [];
    const { signal } = await serve({ reload: () => read.promise }, { hasFiles: true, notices });
    await signal('SIGHUP', 0);
    await signal('SIGTERM', 1);
    await signal('SIGHUP', 2);
    read.resolve();
    await new Promise((done) => setImmediate(done));
    expect(notices).toEqual(['ready', 'reloading', 'stopping']);
  });

  it('leaves SIGHUP alone where there are no files', async () => {
    expect((await serve()).listens('SIGHUP')).toBe(0);
  });
});
