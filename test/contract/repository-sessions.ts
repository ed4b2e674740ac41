/** The part of the repository's contract that is about signed-in browsers. */
import { expect, test } from 'vitest';
import type { ConfigWriter, Repository } from '../../src/storage/repository.ts';
import type { StoredSession } from '../../src/model/resources.ts';
import { at, change, FIRST, makeAdminToken, makeSession } from './records.ts';

export function sessionsContract(current: () => Repository): void {
  const write = (work: (writer: ConfigWriter) => Promise<unknown>) =>
    change(current(), async (writer) => void (await work(writer)));
  const find = ({ value_hash: hash }: StoredSession) =>
    current().read((reader) => reader.findSessionByHash(hash));
  const times = { now: at(10), unusedSince: at(5) };
  const listed = async (actorId?: string) => {
    const page = await current().read((reader) => reader.listSessions(FIRST, times, actorId));
    return { ids: page.items.map(({ id }) => id), total: page.total };
  };

  test('a session is found by its hash, with its token as that is now, and without the hash', async () => {
    const token = makeAdminToken({ role: 'viewer', expires_at: at(500) });
    const session = makeSession(token.id);
    const own = makeSession(null, { kind: 'oidc', groups: ['ops', 'Ä'], user_agent: null, proof: 'p' });
    await write(async (writer) => {
      await writer.insertAdminToken(token);
      await writer.insertSession(session);
      await writer.insertSession(own);
    });
    const { value_hash: _hash, ...served } = session;
    expect(await find(session)).toEqual({ ...served, token: { role: 'viewer', expires_at: at(500) } });
    expect(await current().read((reader) => reader.findSession(own.id))).toMatchObject({
      groups: ['ops', 'Ä'],
      token: null,
    });
    expect(await current().read((reader) => reader.findSessionByHash('none'))).toBeUndefined();
  });

  test('a session goes with its token', async () => {
    const token = makeAdminToken();
    const session = makeSession(token.id);
    await write(async (writer) => {
      await writer.insertAdminToken(token);
      await writer.insertSession(session);
    });
    await write((writer) => writer.deleteAdminToken(token.id));
    expect(await find(session)).toBeUndefined();
    expect(await current().read((reader) => reader.countSessions())).toBe(0);
  });

  test('lists have what has not expired, of one actor or of all', async () => {
    const used = { last_used_at: at(6) };
    const mine = makeSession(null, { ...used, actor_id: 'me' });
    const others = makeSession(null, used);
    const idle = makeSession(null, { last_used_at: at(5) });
    const over = makeSession(null, { ...used, expires_at: at(10) });
    await write(async (writer) => {
      for (const session of [mine, others, idle, over]) await writer.insertSession(session);
    });
    expect(await listed()).toEqual({ ids: [mine.id, others.id], total: 2 });
    expect(await listed('me')).toEqual({ ids: [mine.id], total: 1 });
    await write((writer) => writer.deleteExpiredSessions(times));
    expect(await current().read((reader) => reader.countSessions())).toBe(2);
  });

  test('an actor keeps the sessions that were used last, and uses only move forward', async () => {
    const sessions = [1, 2, 3].map((used) => makeSession(null, { last_used_at: at(used) }));
    const other = makeSession(null, { actor_id: 'other', last_used_at: at(0) });
    await write(async (writer) => {
      for (const session of [...sessions, other]) await writer.insertSession(session);
    });
    const [first, second, third] = sessions.map(({ id }) => id);
    await write(async (writer) => {
      await writer.recordSessionUse(first ?? '', at(9));
      await writer.recordSessionUse(first ?? '', at(8));
      await writer.recordSessionUse('gone', at(9));
    });
    let ended: readonly string[] = [];
    await write(async (writer) => {
      ended = await writer.deleteLeastUsedSessions('environment', 1);
    });
    expect(new Set(ended)).toEqual(new Set([second, third]));
    expect(await current().read((reader) => reader.findSession(first ?? ''))).toMatchObject({
      last_used_at: at(9),
    });
    expect(await current().read((reader) => reader.countSessions())).toBe(2);
  });
}
