import { describe, expect, it } from 'vitest';
import { appRecord, configChange } from '../../../test/support/data/config-records.ts';
import { systemClock } from '../../lib/clock.ts';
import type { ConfigChange, ConfigPosition } from '../../model/config.ts';
import { createLogger } from '../../observe/log.ts';
import { ConfigSync } from './config-sync.ts';
import { ConfigState } from './config-state.ts';

const at = (configVersion: number, history = 'a'): ConfigPosition => ({
  configVersion,
  changeId: `${history}${configVersion}`,
});

/** The change of one write in one history of the database. */
const write = (configVersion: number, history = 'a'): ConfigChange => ({
  ...configChange(configVersion, {}),
  ...at(configVersion, history),
  after: at(configVersion - 1, history),
});

/** A database whose position the test sets, and workers that apply changes when the test lets them. */
function setUp(known: number) {
  const state = new ConfigState();
  state.apply({ ...configChange(known, {}), ...at(known), reset: true });
  const given: string[] = [];
  const obeyed: number[] = [];
  const lines: string[] = [];
  const pending: (() => void)[] = [];
  const preparing: (() => void)[] = [];
  const database = { position: at(known), hasLog: true, fails: false, loads: 0 };
  const configSync = new ConfigSync({
    state,
    repository: {
      async position() {
        return database.position;
      },
      async loadSince(from) {
        database.loads += 1;
        if (database.fails) throw new Error('the database is gone');
        const { configVersion, changeId } = database.position;
        if (configVersion === from.configVersion && changeId === from.changeId) return undefined;
        const change = { ...configChange(configVersion, {}), configVersion, changeId };
        return database.hasLog ? { ...change, after: from } : { ...change, reset: true };
      },
    },
    async prepare(change) {
      if (change.apps.length > 0) await new Promise<void>((resolve) => preparing.push(resolve));
      return async () => {
        state.apply(change);
        const { after, configVersion, reset } = change;
        given.push(reset ? `all ${configVersion}` : `${after?.configVersion}-${configVersion}`);
        await new Promise<void>((resolve) => pending.push(resolve));
      };
    },
    onChange: () => undefined,
    onApplied: (version) => obeyed.push(version),
    log: createLogger({
      level: 'info',
      format: 'json',
      output: { write: (line: string) => void lines.push(line) },
      clock: systemClock,
    }),
  });
  const swapped = (): void => {
    for (const resolve of pending.splice(0)) resolve();
  };
  return { configSync, given, obeyed, lines, database, swapped, preparing };
}

describe('writes of this node', () => {
  it('are sent in order without waiting for the workers', async () => {
    const { configSync, given, obeyed, swapped, database } = setUp(4);
    const all = Promise.all([5, 6, 7].map((version) => configSync.publish(write(version))));
    await expect.poll(() => given).toEqual(['4-5', '5-6', '6-7']);
    expect(obeyed).toEqual([]);
    swapped();
    await all;
    expect(obeyed).toEqual([5, 6, 7]);
    expect(database.loads).toBe(0);
  });

  it('wait behind one that has to be prepared, and are sent after it, in order', async () => {
    const { configSync, given, obeyed, swapped, preparing } = setUp(4);
    const large = { ...write(5), apps: [{ app: appRecord({ id: 'a' }), versions: [] }] };
    const all = Promise.all([large, write(6), write(7)].map((each) => configSync.publish(each)));
    await expect.poll(() => preparing).toHaveLength(1);
    expect([given, configSync.position.configVersion]).toEqual([[], 4]);
    preparing[0]?.();
    await expect.poll(() => given).toEqual(['4-5', '5-6', '6-7']);
    swapped();
    await all;
    expect(obeyed).toEqual([5, 6, 7]);
  });

  it('include earlier writes of other nodes, and wait for them', async () => {
    const { configSync, given, swapped, database } = setUp(4);
    database.position = at(8);
    let answered = 0;
    const all = [7, 8, 9].map((version) => configSync.publish(write(version)).then(() => (answered += 1)));
    await expect.poll(() => given).toEqual(['4-8', '8-9']);
    expect(answered).toBe(0);
    swapped();
    await Promise.all(all);
    expect(database.loads).toBe(1);
  });

  it('are not sent again if a look for changes was faster', async () => {
    const { configSync, given, swapped, database } = setUp(4);
    database.position = at(5);
    const looked = configSync.catchUp();
    const published = configSync.publish(write(5));
    await expect.poll(() => given).toEqual(['4-5']);
    swapped();
    await Promise.all([looked, published]);
    expect(given).toEqual(['4-5']);
  });

  it('of another history than the served one are not added to it', async () => {
    const { configSync, given, swapped, database } = setUp(4);
    // The database lost version 4, and another node wrote a different version 4.
    database.position = at(5, 'b');
    database.hasLog = false;
    const published = configSync.publish(write(5, 'b'));
    await expect.poll(() => given).toEqual(['all 5']);
    swapped();
    await published;
  });

  it('that could not be loaded fail, and the next write includes them', async () => {
    const { configSync, given, swapped, database } = setUp(4);
    database.position = at(7);
    database.fails = true;
    await expect(configSync.publish(write(7))).rejects.toThrow('the database is gone');
    database.fails = false;
    database.position = at(8);
    const next = configSync.publish(write(8));
    await expect.poll(() => given).toEqual(['4-8']);
    swapped();
    await next;
  });
});

describe('looks for changes', () => {
  it('requested while another one waits are merged', async () => {
    const { configSync, given, swapped, database } = setUp(4);
    database.position = at(6);
    const looks = [configSync.catchUp(), configSync.catchUp(), configSync.catchUp()];
    await expect.poll(() => given).toEqual(['4-6']);
    swapped();
    await Promise.all(looks);
    expect(database.loads).toBe(1);
    await configSync.catchUp();
    expect(given).toEqual(['4-6']);
  });

  it('without heartbeats read what is newer, and nothing of a standby that is behind', async () => {
    const { configSync, given, swapped, database } = setUp(4);
    await configSync.catchUpIfNewer();
    database.position = at(3);
    await configSync.catchUpIfNewer();
    expect([database.loads, given]).toEqual([0, []]);
    database.position = at(6);
    const looked = configSync.catchUpIfNewer();
    await expect.poll(() => given).toEqual(['4-6']);
    swapped();
    await looked;
  });

  it('find a restored database, even at the same version', async () => {
    const { configSync, given, lines, swapped, database } = setUp(4);
    database.position = at(4, 'b');
    database.hasLog = false;
    const looked = configSync.catchUp();
    await expect.poll(() => given).toEqual(['all 4']);
    swapped();
    await looked;
    expect(lines.join()).toMatch(/whole configuration was read again/);
  });

  it('do not replace the configuration with an empty database, and log it once', async () => {
    const { configSync, given, lines, database } = setUp(4);
    database.position = { configVersion: 0, changeId: undefined };
    database.hasLog = false;
    await configSync.catchUp();
    await configSync.catchUp();
    expect(given).toEqual([]);
    expect(lines.join().match(/the database is empty/g)).toHaveLength(1);
  });
});
