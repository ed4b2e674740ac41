import { describe, expect, it } from 'vitest';
import { createOwnPorts } from '../../egress/own-listeners.ts';
import { createLimitMemory } from '../../limits/local/local-store.ts';
import { readSettings } from '../../settings/settings.ts';
import type { TrialQuestion } from '../../explain/replay/replay-messages.ts';
import { TrialThreads } from './trial-thread.ts';

/** Errors that were logged. */
const logged: unknown[] = [];
const log = { error: (...line: unknown[]) => void logged.push(line) };

/** A program that answers each question, after it has done `what`. */
function threads(what: string): TrialThreads {
  const source = `import { parentPort } from 'node:worker_threads';
parentPort.on('message', () => { ${what}; parentPort.postMessage({ type: 'failed', message: 'asked' }); });`;
  const settings = readSettings({});
  if (!('settings' in settings)) throw new Error(settings.errors.join());
  const start = {
    version: '0.0.0',
    settings: settings.settings,
    limitMemory: createLimitMemory(),
    ownPorts: createOwnPorts(),
    viaName: 'headgate-test',
    isSecure: false,
    owner: 0x7ffe,
  };
  return new TrialThreads(new URL(`data:text/javascript,${encodeURIComponent(source)}`), start, log);
}

const QUESTION = { type: 'explain', config: {}, input: {} } as unknown as TrialQuestion;
const ANSWER = { type: 'failed', message: 'asked' };
const LONG_MS = 20_000;

describe('a trial', () => {
  it('may ask several times, and the next one begins when it is done', async () => {
    const trials = threads('');
    const log: string[] = [];
    const task = (name: string) =>
      trials.run(LONG_MS, async (ask) => {
        log.push(`${name} begins`);
        expect(await ask(QUESTION)).toEqual(ANSWER);
        expect(await ask(QUESTION)).toEqual(ANSWER);
        log.push(`${name} ends`);
        return name;
      });
    expect(await Promise.all([task('a'), task('b')])).toEqual(['a', 'b']);
    expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
  });

  it('is ended when it takes too long or dies, and the next one goes on', async () => {
    expect(await threads('for (;;);').run(300, async (ask) => [await ask(QUESTION)])).toEqual([undefined]);
    const trials = threads('process.exit(1)');
    for (const _ of [1, 2])
      expect(await trials.run(LONG_MS, async (ask) => [await ask(QUESTION)])).toEqual([undefined]);
  });

  it('that fails by an error says why, and the error is logged', async () => {
    const trials = threads('throw new TypeError("no such thing")');
    const [answer, next] =
      (await trials.run(LONG_MS, async (ask) => [await ask(QUESTION), await ask(QUESTION)])) ?? [];
    expect(answer).toEqual({ type: 'failed', message: 'no such thing' });
    expect(next).toEqual(answer);
    expect(logged).toEqual([
      [{ err: expect.any(TypeError), thread: 'trial' }, 'a thread for a task has failed'],
    ]);
  });

  it('is refused while several others wait, but not for ever', async () => {
    const trials = threads('');
    const started = Array.from({ length: 8 }, () => trials.run(LONG_MS, (ask) => ask(QUESTION)));
    expect((await Promise.all(started)).filter((answer) => answer === undefined)).toHaveLength(3);
    expect(await trials.run(LONG_MS, (ask) => ask(QUESTION))).toEqual(ANSWER);
  });

  it('that throws does not keep the next one from running', async () => {
    const trials = threads('');
    const failing = trials.run(LONG_MS, async () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(await trials.run(LONG_MS, (ask) => ask(QUESTION))).toEqual(ANSWER);
  });
});
