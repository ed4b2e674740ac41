import { describe, expect, it } from 'vitest';
import { compileBackend } from '../../../config/backend.ts';
import { revisionOf } from '../../../../test/support/proxy.ts';
import { UpstreamPermits, type PermitLimits, type PermitWaiter } from './permits.ts';

const tick = (): Promise<void> => new Promise((done) => setImmediate(done));

/** Two apps with one backend, over HTTP/2 unless it is said. */
function setUp(limits: Partial<PermitLimits>, protocol: 'h2' | 'http1' = 'h2') {
  const permits = new UpstreamPermits({ maxUpstreamConnections: 0, maxUpstreamQueue: 10, ...limits });
  const backend = compileBackend(revisionOf('v', 80, { backend_protocol: protocol }));
  const events: string[] = [];
  const ask = (app: string, name = ''): string => {
    const waiter: PermitWaiter = {
      app,
      onPermit: () => void events.push(`${app}${name} granted`),
      onDisplaced: () => void events.push(`${app}${name} displaced`),
      onDefect: (error) => {
        throw error;
      },
    };
    return permits.tryAcquire(backend, waiter);
  };
  const fill = (app: string, count: number): number => {
    let got = 0;
    while (got < count && ask(app) === 'acquired') got += 1;
    return got;
  };
  const release = async (app: string): Promise<string[]> => {
    permits.release(backend.poolKey, app);
    await tick();
    return events.splice(0);
  };
  return { permits, ask, fill, release, events };
}

describe('streams of a backend that two apps have', () => {
  it('are never all of one app, and those that wait are of use to the other', async () => {
    const { ask, fill, release } = setUp({ streamsMax: () => 1_600 });
    const held = fill('a', 10_000);
    expect(held).toBe(1_440);
    expect(fill('b', 100)).toBe(100);
    // What ends of one app goes to it again only as long as the other has its tenth of what is left.
    expect(await release('a')).toEqual([]);
    expect(await release('b')).toEqual([]);
    expect(ask('b')).toBe('acquired');
  });

  it('come back to an app that is alone again', async () => {
    const { fill, release } = setUp({ streamsMax: () => 200 });
    expect(fill('a', 1_000)).toBe(180);
    expect(fill('b', 18)).toBe(18);
    for (let count = 0; count < 18; count++) expect(await release('b')).toEqual([]);
    expect(await release('a')).toEqual(['a granted']);
  });

  it('may all be of one app where there are few, or where a limit is set', () => {
    expect(setUp({ streamsMax: () => 99 }).fill('a', 1_000)).toBe(99);
    expect(setUp({ maxUpstreamConnections: 500 }, 'http1').fill('a', 1_000)).toBe(500);
  });
});

describe('a queue that two apps have', () => {
  it('gives free places to the app that has fewer', async () => {
    const { ask, release } = setUp({ maxUpstreamConnections: 3 }, 'http1');
    for (let count = 0; count < 3; count++) ask('a');
    for (let count = 0; count < 4; count++) ask('a', String(count));
    for (let count = 0; count < 2; count++) ask('b', String(count));
    expect(await release('a')).toEqual(['b0 granted']);
    // Now each has one: they take turns.
    expect(await release('a')).toEqual(['a0 granted']);
    expect(await release('a')).toEqual(['b1 granted']);
    expect(await release('b')).toEqual(['a1 granted']);
    expect(await release('b')).toEqual(['a2 granted']);
  });

  it('has room for a new request of the app with fewer waiting requests', async () => {
    const { ask, events, permits } = setUp({ maxUpstreamConnections: 1, maxUpstreamQueue: 4 }, 'http1');
    ask('a');
    for (let count = 0; count < 4; count++) expect(ask('a', String(count))).toBe('waiting');
    expect(ask('a', '4')).toBe('full');
    expect([ask('b', '0'), ask('b', '1'), ask('b', '2')]).toEqual(['waiting', 'waiting', 'full']);
    await tick();
    expect(events).toEqual(['a3 displaced', 'a2 displaced']);
    expect(permits.waiting).toBe(4);
  });
});
