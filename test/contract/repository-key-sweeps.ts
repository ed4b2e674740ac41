/** The part of the repository's contract that finds API keys that end or are not used, under the sweep that asks it. */
import { expect, test } from 'vitest';
import { KeySweep, KEYS_TOLD_MAX } from '../../src/control/events/keys/key-sweep.ts';
import type { NoticedEvent } from '../../src/model/events/event-log.ts';
import type { App, StoredApiKey } from '../../src/model/resources.ts';
import type { Repository } from '../../src/storage/repository.ts';
import { change, makeApp, makeKey } from './records.ts';

const DAY_MS = 86_400_000;
const START_MS = Date.parse('2026-06-01T00:00:00.000Z');
const iso = (ms: number): string => new Date(ms).toISOString();

const unexpected = (fields: object): void => expect.fail(JSON.stringify(fields));
let count = 0;
/** A UUIDv7 of that time. */
const idAt = (ms: number): string => {
  const digits = ms.toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-${String((count += 1)).padStart(12, '0')}`;
};

export function keySweepsContract(current: () => Repository): void {
  const store = async (keys: (app: App) => readonly StoredApiKey[], slug = 'shop'): Promise<void> => {
    await change(current(), async (writer) => {
      const app = makeApp({ slug });
      await writer.insertApp(app);
      for (const key of keys(app)) await writer.insertKey(key);
    });
  };
  const key = (app: App, name: string, fields: Partial<StoredApiKey>): StoredApiKey => {
    const created = fields.created_at ?? iso(START_MS - 200 * DAY_MS);
    return makeKey(app, {
      name,
      is_active: true,
      id: idAt(Date.parse(created)),
      created_at: created,
      ...fields,
    });
  };
  const gateway = () => {
    const recorded: NoticedEvent[] = [];
    const time = { nowMs: START_MS };
    const sweep = new KeySweep({
      store: () => current().keySweeps,
      events: { record: (event) => void recorded.push(event) },
      clock: { nowMs: () => time.nowMs, monotonicMs: () => time.nowMs },
      log: { debug: unexpected, warn: unexpected } as never,
      slugOf: () => 'shop',
      expiryDays: [14, 3, 1],
      unusedDays: 90,
    });
    const told = (): string[] => {
      const lines = recorded.map(({ type, subject, data }) => {
        const { days_left: left, days = left, left_out: out } = data as Record<string, number>;
        return [type, subject.name, days ?? '', ...(out === undefined ? [] : [`and ${out}`])]
          .join(' ')
          .trim();
      });
      recorded.length = 0;
      return lines;
    };
    return { time, sweep, told };
  };

  test('keys that come to a threshold or end are told once, also after a gateway was down, and by one of several', async () => {
    await store((app) => [
      key(app, 'far', { expires_at: iso(START_MS + 20 * DAY_MS), last_used_at: iso(START_MS) }),
      key(app, 'near', { expires_at: iso(START_MS + 2.5 * DAY_MS), last_used_at: iso(START_MS) }),
      key(app, 'over', { expires_at: iso(START_MS - DAY_MS), last_used_at: iso(START_MS) }),
      key(app, 'off', { expires_at: iso(START_MS + DAY_MS), is_active: false }),
      key(app, 'endless', { last_used_at: iso(START_MS) }),
    ]);
    const [one, other] = [gateway(), gateway()];
    await one.sweep.sweep();
    // What ended before there were events is not told.
    expect(one.told()).toEqual(['key.expiring near 2']);
    await other.sweep.sweep();
    expect(other.told()).toEqual([]);
    // `one` is down; `near` came to one day and ended meanwhile.
    other.time.nowMs += 7 * DAY_MS;
    await other.sweep.sweep();
    expect(other.told()).toEqual(['key.expired near', 'key.expiring far 13']);
    one.time.nowMs += 19.5 * DAY_MS;
    await one.sweep.sweep();
    expect(one.told()).toEqual(['key.expiring far 0']);
  });

  test('after a clock that was years ahead keys are told again as their times come', async () => {
    await store((app) => [
      key(app, 'far', { expires_at: iso(START_MS + 20 * DAY_MS), last_used_at: iso(START_MS - 80 * DAY_MS) }),
    ]);
    const { sweep, time, told } = gateway();
    await sweep.sweep();
    time.nowMs += 3_000 * DAY_MS;
    await sweep.sweep();
    told();
    time.nowMs = START_MS + DAY_MS;
    const restarted = gateway();
    restarted.time.nowMs = time.nowMs;
    await restarted.sweep.sweep();
    expect(restarted.told()).toEqual([]);
    restarted.time.nowMs += 10 * DAY_MS;
    await restarted.sweep.sweep();
    expect(restarted.told()).toEqual(['key.expiring far 9', 'key.unused far 91']);
  });

  test('keys that are not used for long are told once, new ones and those that have ended not at all', async () => {
    await store((app) => [
      key(app, 'never', {}),
      key(app, 'long', { last_used_at: iso(START_MS - 91 * DAY_MS) }),
      key(app, 'soon', { last_used_at: iso(START_MS - 89.5 * DAY_MS) }),
      key(app, 'new', { created_at: iso(START_MS - DAY_MS) }),
      key(app, 'ended', { expires_at: iso(START_MS - 2 * DAY_MS) }),
      key(app, 'off', { is_active: false }),
    ]);
    const { sweep, time, told } = gateway();
    await sweep.sweep();
    expect(told().toSorted()).toEqual(['key.unused long 91', 'key.unused never 200']);
    time.nowMs += DAY_MS;
    await sweep.sweep();
    expect(told()).toEqual(['key.unused soon 90']);
    time.nowMs += DAY_MS;
    await sweep.sweep();
    expect(told()).toEqual([]);
  });

  test('of very many keys a bounded number is told, with how many more there are', async () => {
    await store((app) =>
      Array.from({ length: KEYS_TOLD_MAX + 7 }, (_, index) =>
        key(app, `k${index}`, { expires_at: iso(START_MS + 2 * DAY_MS) }),
      ),
    );
    const { sweep, told } = gateway();
    await sweep.sweep();
    const lines = told();
    const expiring = lines.filter((line) => line.startsWith('key.expiring'));
    expect(expiring.length).toBe(KEYS_TOLD_MAX);
    expect(expiring.filter((line) => line.includes('and'))).toEqual([expiring.at(-1)]);
    expect(expiring.at(-1)).toMatch(/ and 7$/);
    const unused = lines.filter((line) => line.startsWith('key.unused'));
    expect(unused.length).toBe(KEYS_TOLD_MAX);
    expect(unused.at(-1)).toMatch(/ and 7$/);
  });

  test('an app whose keys all end at once takes no event from other apps', async () => {
    // Its keys are older than those of the other apps, and end sooner.
    await store((app) =>
      Array.from({ length: KEYS_TOLD_MAX + 7 }, (_, index) =>
        key(app, `many${index}`, {
          created_at: iso(START_MS - 300 * DAY_MS),
          expires_at: iso(START_MS + DAY_MS / 2),
        }),
      ),
    );
    for (const slug of ['quiet', 'still'])
      await store((app) => [key(app, slug, { expires_at: iso(START_MS + 13 * DAY_MS) })], slug);
    const { sweep, time, told } = gateway();
    for (const type of ['key.expiring', 'key.expired']) {
      await sweep.sweep();
      const lines = told();
      const ofType = lines.filter((line) => line.startsWith(`${type} `));
      const others = type === 'key.expiring' ? ['quiet 13', 'still 13'] : ['quiet', 'still'];
      expect(ofType).toEqual(expect.arrayContaining(others.map((rest) => `${type} ${rest}`)));
      expect(ofType).toHaveLength(KEYS_TOLD_MAX);
      expect(ofType.filter((line) => line.includes(' and '))).toEqual([
        expect.stringMatching(/ many\d+.* and 9$/),
      ]);
      if (type === 'key.expired') continue;
      const unused = lines.filter((line) => line.startsWith('key.unused '));
      expect(unused).toEqual(expect.arrayContaining(['key.unused quiet 200', 'key.unused still 200']));
      expect(unused).toHaveLength(KEYS_TOLD_MAX);
      time.nowMs += 14 * DAY_MS;
    }
  });
}
