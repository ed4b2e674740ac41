/** Bounds on plans: how many the gateway takes, that one works at a time, and that places come back. */
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { ADMIN_TOKEN, createBilling, startManagement, verdict, type Fixture } from '../management.fixture.ts';
import { isFailure } from './failure.ts';
import { Admission, type Leave } from './admission.ts';

const enter = (admission: Admission): Leave => {
  const leave = admission.enter();
  if (isFailure(leave)) throw new Error('no place');
  return leave;
};

describe('an admission', () => {
  it('refuses work for which there is no place, and frees each place once', () => {
    const admission = new Admission(2);
    const [first] = [enter(admission), enter(admission)];
    expect(admission.enter()).toMatchObject({ failure: 'overloaded', headers: { 'Retry-After': '2' } });
    first();
    first();
    enter(admission);
    expect(isFailure(admission.enter())).toBe(true);
  });

  it('lets the event loop go on between two works', async () => {
    const admission = new Admission(2);
    const order: string[] = [];
    const first = admission.runAlone(async () => {
      order.push('first');
      setImmediate(() => order.push('other'));
    });
    await Promise.all([first, admission.runAlone(async () => order.push('second'))]);
    expect(order).toEqual(['first', 'other', 'second']);
  });

  it('runs work one after the other, also after failed work', async () => {
    const admission = new Admission(9);
    const events: string[] = [];
    const work = (name: string) => async (): Promise<void> => {
      events.push(`${name} begins`);
      await new Promise((done) => setImmediate(done));
      events.push(`${name} ends`);
      if (name === 'a') throw new Error('a failed');
    };
    const all = ['a', 'b', 'c'].map((name) => admission.runAlone(work(name)));
    expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(events).toEqual(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]));
  });
});

/** Sends the head of a call, and of its body nothing. */
async function begin({ port }: Fixture, path: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(
    `POST /api/v1${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n',
  );
  return socket;
}

describe('plans', () => {
  const plan = (api: Fixture) => api.post('/config/plan', { config: { apps: {} } });

  it('beyond eight are refused before their bodies are read, until others have gone', async () => {
    await using api = await startManagement();
    const slow = await Promise.all(Array.from({ length: 8 }, () => begin(api, '/config/plan')));
    await expect.poll(async () => verdict(await plan(api))).toEqual([503, 'overloaded', []]);
    const refused = await plan(api);
    expect(refused.headers.get('retry-after')).toBe('2');
    expect((await api.post('/apps', { name: 'a', slug: 'a', gateway_path: '/a' })).status).toBe(201);
    for (const socket of slow) socket.destroy();
    await expect.poll(async () => (await plan(api)).status).toBe(200);
  });

  it('give their places back whatever their answer is', async () => {
    await using api = await startManagement();
    for (let call = 0; call < 20; call++) {
      expect((await api.post('/config/plan', '{"config": ')).status).toBe(400);
      expect((await api.post('/config/plan', { config: { nonsense: 1 } })).status).toBe(422);
      expect((await plan(api)).status).toBe(200);
    }
  });
});

describe('applies', () => {
  const none = { config: { apps: {} } };
  const call = async (api: Fixture, path: string) => verdict(await api.post(path, none));

  it('beyond eight are refused before their bodies are read, and use other places than plans', async () => {
    await using api = await startManagement();
    const plans = await Promise.all(Array.from({ length: 8 }, () => begin(api, '/config/plan')));
    await expect.poll(() => call(api, '/config/plan')).toEqual([503, 'overloaded', []]);
    expect((await api.post('/config/apply', none)).status).toBe(200);
    const applies = await Promise.all(Array.from({ length: 8 }, () => begin(api, '/config/apply')));
    await expect.poll(() => call(api, '/config/apply')).toEqual([503, 'overloaded', []]);
    expect((await api.post('/config/apply', none)).headers.get('retry-after')).toBe('2');
    for (const socket of [...plans, ...applies]) socket.destroy();
    await expect.poll(async () => (await api.post('/config/apply', none)).status).toBe(200);
  });
});

describe('differences of config versions', () => {
  it('beyond eight at once get Retry-After, and their answer at the next attempt', async () => {
    await using api = await startManagement();
    await createBilling(api);
    const read = api.repository.read.bind(api.repository);
    const gate = Promise.withResolvers<void>();
    vi.spyOn(api.repository, 'read').mockImplementation(async (work) => {
      await gate.promise;
      return read(work);
    });
    const diff = () => api.get('/config/versions/diff?from=1&to=2');
    const replies = Array.from({ length: 9 }, diff);
    // The ninth is refused while the others still wait.
    const refused = await Promise.race(replies);
    expect(verdict(refused).slice(0, 2)).toEqual([503, 'overloaded']);
    expect(refused.headers.get('retry-after')).toBe('2');
    gate.resolve();
    const statuses = (await Promise.all(replies)).map(({ status }) => status);
    expect([200, 503].map((status) => statuses.filter((each) => each === status).length)).toEqual([8, 1]);
    expect((await diff()).status).toBe(200);
  });
});
