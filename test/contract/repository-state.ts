/** The part of the repository's contract about what writes are warned by: the state of the traffic after them. */
import { expect, test } from 'vitest';
import type { ConfigReader, Repository } from '../../src/storage/repository.ts';
import { at, change, makeEndpoint, makeKey, makeRevision, makeVersion, seed } from './records.ts';

export function stateContract(current: () => Repository): void {
  const read = <T>(work: (reader: ConfigReader) => Promise<T>): Promise<T> => current().read(work);

  test('a revision has an active endpoint, or none', async () => {
    const { revision, endpoint } = await seed(current());
    expect(await read((reader) => reader.hasActiveEndpoint(revision.id))).toBe(true);
    await change(current(), (writer) => writer.updateEndpoint({ ...endpoint, is_active: false }));
    expect(await read((reader) => reader.hasActiveEndpoint(revision.id))).toBe(false);
    const added = makeEndpoint(revision);
    await change(current(), (writer) => writer.insertEndpoint(added));
    expect(await read((reader) => reader.hasActiveEndpoint(revision.id))).toBe(true);
  });

  test('a current revision without an active endpoint is found in its own app', async () => {
    const { app, version } = await seed(current());
    const other = await seed(current());
    const find = (id: string) => read((reader) => reader.findRevisionWithoutEndpoint(id));
    const bare = makeRevision(version, { is_current: true });
    const idle = makeRevision(version, { is_current: false });
    const retired = makeVersion(other.app, { status: 'retired' });
    const gone = makeRevision(retired, { is_current: true });
    await change(current(), async (writer) => {
      await writer.insertRevision(idle);
      await writer.insertVersion(retired);
      await writer.insertRevision(gone);
    });
    expect([await find(app.id), await find(other.app.id)]).toEqual([undefined, undefined]);
    await change(current(), (writer) => writer.insertRevision(bare));
    expect(await find(app.id)).toEqual({ version: version.version, revision: bare.revision });
    expect(await find(other.app.id)).toBeUndefined();
    await change(current(), (writer) => writer.insertEndpoint(makeEndpoint(bare)));
    expect(await find(app.id)).toBeUndefined();
  });

  test('weights are added up over the current revisions of a version', async () => {
    const { app, version, revision } = await seed(current());
    const empty = makeVersion(app);
    await change(current(), async (writer) => {
      await writer.insertVersion(empty);
      await writer.updateRevision({ ...revision, is_current: true, traffic_weight: 7 });
      await writer.insertRevision(makeRevision(version, { is_current: true, traffic_weight: 5 }));
      await writer.insertRevision(makeRevision(version, { is_current: false, traffic_weight: 100 }));
    });
    const weights = (id: string) => read((reader) => reader.currentWeights(id));
    expect(await weights(version.id)).toEqual({ count: 2, weight: 12 });
    expect(await weights(empty.id)).toEqual({ count: 0, weight: 0 });
  });

  test('scopes are held by one key that is good, not by several together', async () => {
    const { app } = await seed(current());
    const other = await seed(current());
    const now = at(10);
    const holds = (...scopes: string[]) => read((reader) => reader.someKeyHasScopes(app.id, scopes, now));
    await change(current(), async (writer) => {
      await writer.insertKey(makeKey(app, { scopes: ['a'] }));
      await writer.insertKey(makeKey(app, { scopes: ['b', 'c'], expires_at: at(11) }));
      await writer.insertKey(makeKey(app, { scopes: ['off'], is_active: false }));
      await writer.insertKey(makeKey(app, { scopes: ['old'], expires_at: now }));
      await writer.insertKey(makeKey(other.app, { scopes: ['foreign'] }));
    });
    expect([await holds('a'), await holds('c', 'b')]).toEqual([true, true]);
    for (const scopes of [['a', 'b'], ['off'], ['old'], ['foreign'], ['A']]) {
      expect(await holds(...scopes), scopes.join(' ')).toBe(false);
    }
  });

  test('of very many keys the newest are looked at, and what they do not tell is not known', async () => {
    const { app } = await seed(current());
    const keys = Array.from({ length: 1_001 }, (_, index) =>
      makeKey(app, { scopes: index === 0 ? ['oldest'] : index === 1_000 ? ['newest'] : [] }),
    );
    await change(current(), async (writer) => {
      for (const key of keys) await writer.insertKey(key);
    });
    const holds = (scope: string) => read((reader) => reader.someKeyHasScopes(app.id, [scope], at(0)));
    expect([await holds('newest'), await holds('none')]).toEqual([true, undefined]);
  });
}
