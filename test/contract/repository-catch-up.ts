/** The part of the repository's contract about readers that missed some writes, and load only what is different. */
import { expect, test } from 'vitest';
import type { ConfigChange, ConfigPosition } from '../../src/model/config.ts';
import type { Repository } from '../../src/storage/repository.ts';
import { change, makeApp, makeKey, makeVersion, seed, touched } from './records.ts';

const positionOf = ({ configVersion, changeId }: ConfigChange): ConfigPosition => ({
  configVersion,
  changeId,
});

export function catchUpContract(current: () => Repository): void {
  test('a node that is up to date has nothing to load', async () => {
    expect(await current().loadSince({ configVersion: 0, changeId: undefined })).toBeUndefined();
    await seed(current());
    const position = await current().position();
    expect(position).toEqual({ configVersion: 1, changeId: expect.any(String) });
    expect(await current().loadSince(position)).toBeUndefined();
    expect(positionOf(await current().loadAll())).toEqual(position);
  });

  test('missed writes are one change of what they touched, as it is now', async () => {
    const { app, version, key } = await seed(current());
    const other = makeApp();
    await change(current(), (writer) => writer.insertApp(other), { appIds: [other.id] });
    const known = await current().position();
    const second = makeVersion(app);
    await change(current(), (writer) => writer.insertVersion(second), { versionIds: [second.id] });
    const moved = { ...second, gateway_path: '/moved' };
    await change(current(), (writer) => writer.updateVersion(moved), { versionIds: [second.id] });
    await change(current(), (writer) => writer.deleteKey(key.id), { keyIds: [key.id] });
    await change(current(), (writer) => writer.deleteVersion(version.id), { versionIds: [version.id] });
    const position = await current().position();
    expect(await current().loadSince(known)).toEqual({
      ...position,
      after: known,
      reset: false,
      apps: [],
      removedAppIds: [],
      versions: [{ version: moved, revisions: [] }],
      removedVersionIds: [version.id],
      keys: [],
      removedKeyIds: [key.id],
    });
    expect(position.configVersion).toBe(known.configVersion + 4);
  });

  test('a node with another history, or ahead, loads everything', async () => {
    const { app } = await seed(current());
    const earlier = await current().position();
    await change(current(), async () => {}, { appIds: [app.id] });
    const everything = await current().loadAll();
    const strange: ConfigPosition[] = [
      { ...earlier, changeId: 'another' },
      { ...earlier, changeId: undefined },
      { configVersion: 2, changeId: earlier.changeId },
      { configVersion: 3, changeId: 'ahead' },
      { configVersion: 0, changeId: 'before all' },
    ];
    for (const known of strange)
      expect(await current().loadSince(known), JSON.stringify(known)).toEqual(everything);
    const fromNothing = await current().loadSince({ configVersion: 0, changeId: undefined });
    expect(fromNothing).toMatchObject({ reset: false, configVersion: 2, apps: everything.apps });
  });

  test('a write that touched very much is loaded with everything else', async () => {
    const { app } = await seed(current());
    const known = await current().position();
    const keyIds = Array.from({ length: 5_001 }, (_, index) => `gone-${index}`);
    await change(current(), async () => {}, { keyIds });
    await change(current(), async () => {}, { appIds: [app.id] });
    expect(await current().loadSince(known)).toMatchObject({ reset: true, configVersion: 3 });
  });

  test('the check of a write is told what its caller has missed, in the same state', async () => {
    const { app, key } = await seed(current());
    const known = await current().position();
    const mine = makeKey(app);
    await change(current(), (writer) => writer.updateKey({ ...key, name: 'theirs' }), { keyIds: [key.id] });
    const told: unknown[] = [];
    const insert = (id: string, knows: ConfigPosition): Promise<unknown> =>
      current().write(
        async (writer) => {
          await writer.insertKey({ ...mine, id, token_hash: id.replaceAll('-', '').padEnd(64, '1') });
          return { value: 0, touched: touched({ keyIds: [id] }) };
        },
        (made, missed) => {
          told.push([made.keys.map((one) => one.id), missed?.keys.map(({ name }) => name)]);
        },
        () => knows,
      );
    await insert(mine.id, known);
    await insert(makeKey(app).id, await current().position());
    expect(told).toEqual([
      [[mine.id], ['theirs']],
      [[expect.any(String)], undefined],
    ]);
  });
}
