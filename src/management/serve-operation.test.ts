/** Clients that disconnect while the gateway works for them. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { untilHolds } from '../../test/support/measure/until.ts';
import { systemClock } from '../lib/clock.ts';
import { SECRET_PLACES } from '../policy/secret-places.ts';
import type { Repository } from '../storage/repository.ts';
import { openSqlite } from '../storage/sqlite/sqlite.ts';
import { startManagement, type Fixture } from './management.fixture.ts';

/** As many as can be received, wait or run at once. */
const PLANS_MAX = 8;
const PLAN = JSON.stringify({ config: {} });

/** A database whose reads can be held up. */
interface SlowDatabase {
  readonly repository: Repository;
  /** Reads that are held up. */
  readonly waiting: () => number;
  holdUp(): void;
  goOn(): void;
}

async function slowDatabase(): Promise<SlowDatabase> {
  const real = await openSqlite({
    secretPlaces: SECRET_PLACES,
    path: ':memory:',
    autoMigrate: true,
    clock: systemClock,
  });
  let gate: PromiseWithResolvers<void> | undefined;
  let waiting = 0;
  const read: Repository['read'] = async (work) => {
    waiting += 1;
    await gate?.promise;
    waiting -= 1;
    return real.read(work);
  };
  const repository = new Proxy(real, {
    get(target, name) {
      if (name === 'read') return read;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
  return {
    repository,
    waiting: () => waiting,
    holdUp: () => void (gate = Promise.withResolvers()),
    goOn: () => gate?.resolve(),
  };
}

const planRequest = (token: string): string =>
  `POST /api/v1/config/plan HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
  `Content-Type: application/json\r\nContent-Length: ${PLAN.length}\r\n\r\n${PLAN}`;

async function opened(api: Fixture): Promise<Socket> {
  const socket = connect(api.port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Ends the connections, and waits until the gateway has noticed. */
async function ended(api: Fixture, sockets: readonly Socket[]): Promise<void> {
  const closed = sockets.map((socket) => once(socket, 'close'));
  for (const socket of sockets) socket.resetAndDestroy();
  await Promise.all(closed);
  // Requests of later connections are read after the ends of these.
  for (let round = 0; round < 3; round++) await (await fetch(`${api.url}/healthz`)).text();
}

describe('the place of a call', () => {
  it('is not taken for a client that has gone while its credential was checked', async () => {
    const slow = await slowDatabase();
    {
      await using api = await startManagement({ repository: slow.repository, clock: systemClock });
      const made = await api.post('/admin/tokens', { name: 'pipeline', role: 'editor' });
      const request = planRequest(String(made.body.data.token));
      slow.holdUp();
      const sockets = await Promise.all(Array.from({ length: PLANS_MAX }, () => opened(api)));
      for (const socket of sockets) socket.write(request);
      await untilHolds(() => slow.waiting() === PLANS_MAX, 'reads that are held up');
      await ended(api, sockets);
      slow.goOn();
      await untilHolds(() => slow.waiting() === 0, 'no read is held up');
      expect((await api.post('/config/plan', PLAN)).status).toBe(200);
    }
    await slow.repository.close();
  });
});
