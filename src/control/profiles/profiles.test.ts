import { describe, expect, it } from 'vitest';
import type { ProfileSink, ProfileTask } from '../../observe/profile.ts';
import { Profiles } from './profiles.ts';
import { profileThread, snapshotProblem } from './thread-profiler.ts';

const MIB = 1024 * 1024;
const CPU: ProfileTask = { kind: 'cpu', seconds: 60 };

/** Collects what a profile sends; `ended` resolves with the problem. */
function collector() {
  const { promise: ended, resolve } = Promise.withResolvers<string | undefined>();
  const chunks: string[] = [];
  const sink: ProfileSink = { chunk: (text) => void chunks.push(text), end: resolve };
  return { sink, chunks, ended };
}

describe('the memory that a heap snapshot needs', () => {
  it.each([
    [10, 160, undefined],
    [10, 159, 'needs 160 MiB of memory, and 159 MiB are left'],
    [256, 4096, undefined],
    [257, 9999, 'expected at most 256 MiB'],
  ])('%i MiB of heap with %i MiB available: %s', (heap, available, problem) => {
    const found = snapshotProblem({ heapBytes: heap * MIB, availableBytes: available * MIB });
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(problem);
  });
});

describe('profiles of a gateway', () => {
  it('are made one at a time, end early when told to, and the next one works', async () => {
    const profiles = new Profiles({
      profiled: () => [],
      profile: (_worker, task, sink) => profileThread(task, sink),
    });
    const first = collector();
    const running = profiles.start(1, CPU, first.sink);
    if (typeof running === 'string') throw new Error(running);
    expect(profiles.start('main', CPU, collector().sink)).toBe('running');
    running.stop();
    expect(await first.ended).toBe('it was stopped');
    const second = collector();
    profiles.start(1, { kind: 'cpu', seconds: 0.02 }, second.sink);
    // The end of the first does not end its successor.
    running.stop();
    expect(await second.ended).toBeUndefined();
    expect(JSON.parse(second.chunks.join('')).nodes).not.toHaveLength(0);
  });

  it('of a worker that is not there leaves room for another; a gateway that stops makes none', async () => {
    const profiles = new Profiles({ profiled: () => [], profile: () => undefined });
    expect(profiles.start(7, CPU, collector().sink)).toBe('no_worker');
    const last = collector();
    profiles.start('main', CPU, last.sink);
    profiles.close();
    expect(await last.ended).toBe('the gateway is stopping');
    expect(profiles.start('main', CPU, last.sink)).toBe('stopping');
    profiles.reopen();
    expect(profiles.start(7, CPU, last.sink)).toBe('no_worker');
  });
});
