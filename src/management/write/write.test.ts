import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import type { ConfigChange } from '../../model/config.ts';
import { openSqlite } from '../../storage/sqlite/sqlite.ts';
import { BILLING, createBilling, manualClock, startManagement, verdict } from '../management.fixture.ts';
import { nextUpdatedAt } from './write.ts';

const app = (index: number) => ({ name: 'x', slug: `app-${index}`, gateway_path: `/app-${index}` });

describe('publishing', () => {
  it('begins in the order of the config versions, and ends before each answer', async () => {
    const WRITES = 20;
    const begun: number[] = [];
    const events: string[] = [];
    const { promise: allBegun, resolve: lastHasBegun } = Promise.withResolvers<void>();
    await using api = await startManagement({
      publish: async ({ configVersion }) => {
        begun.push(configVersion);
        if (begun.length === WRITES) lastHasBegun();
        // None waits for the one before it.
        await allBegun;
        for (let turns = begun.length - begun.indexOf(configVersion); turns > 0; turns--)
          await setImmediate();
        events.push('over');
      },
    });
    await Promise.all(
      Array.from({ length: WRITES }, async (_, index) => {
        const reply = await api.post('/apps', app(index));
        expect(reply.status).toBe(201);
        events.push('answered');
      }),
    );
    const first = begun[0] ?? NaN;
    expect(begun).toEqual(Array.from({ length: WRITES }, (_, index) => first + index));
    for (let position = 0; position < events.length; position++) {
      const soFar = events.slice(0, position + 1);
      const answers = soFar.filter((event) => event === 'answered').length;
      expect(answers).toBeLessThanOrEqual(soFar.length - answers);
    }
  });

  it('also works on a database file, where reads run beside writes', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headgate-write-'));
    const clock = manualClock();
    const repository = await openSqlite({
      secretPlaces: SECRET_PLACES,
      path: join(folder, 'test.db'),
      autoMigrate: true,
      clock,
    });
    try {
      await using api = await startManagement({ repository });
      const replies = await Promise.all(
        Array.from({ length: 10 }, (_, index) => api.post('/apps', app(index))),
      );
      expect(replies.map((reply) => reply.status)).toEqual(Array.from({ length: 10 }, () => 201));
      const versions = api.published.map((change) => change.configVersion);
      expect(versions).toEqual(versions.toSorted((a, b) => a - b));
      expect((await api.get('/apps')).body.page.total).toBe(10);
    } finally {
      await repository.close();
      await rm(folder, { recursive: true });
    }
  });

  it('that fails is answered with 500 and does not stop the writes behind it', async () => {
    let failing = true;
    const published: ConfigChange[] = [];
    await using api = await startManagement({
      publish: async (change) => {
        if (failing) throw new Error('a secret of the inside');
        published.push(change);
      },
    });
    const failed = await api.post('/apps', app(1));
    expect(verdict(failed)).toEqual([500, 'internal_error', []]);
    expect(failed.text).not.toContain('a secret of the inside');
    // Nothing of this is for the workers, so that it does not matter whether they can be reached.
    expect((await api.post('/admin/tokens', { name: 'x', role: 'viewer' })).status).toBe(201);
    failing = false;
    expect((await api.post('/apps', app(2))).status).toBe(201);
    expect(published).toHaveLength(1);
  });

  it('is not done for changes that workers do not need', async () => {
    await using api = await startManagement();
    await api.post('/admin/tokens', { name: 'x', role: 'viewer' });
    expect(api.published).toEqual([]);
  });
});

describe('a change that does not compile', () => {
  it('is refused, and leaves neither record, audit entry nor config version behind', async () => {
    let refuse = false;
    await using api = await startManagement({
      validateChange: () => {
        if (refuse) throw new Error('Cannot compile the version "v1": the reason');
      },
    });
    await createBilling(api);
    const before = await api.repository.read((reader) => reader.configVersion());
    refuse = true;
    const reply = await api.post('/apps/billing/versions', { version: 'v2' });
    expect(verdict(reply)).toEqual([422, 'validation_failed', []]);
    expect(reply.body.detail).toBe('Cannot compile the version "v1": the reason');
    expect(await api.repository.read((reader) => reader.configVersion())).toBe(before);
    expect((await api.get('/apps/billing/versions')).body.page.total).toBe(1);
    expect((await api.get('/audit')).body.page.total).toBe(3);
    expect(api.published).toHaveLength(3);
  });
});

describe('parallel writes that depend on each other', () => {
  it('never leave a child without its parent', async () => {
    await using api = await startManagement();
    await api.post('/apps', BILLING);
    const replies = await Promise.all([
      ...Array.from({ length: 5 }, (_, index) =>
        api.post('/apps/billing/versions', { version: `v${index}` }),
      ),
      api.delete('/apps/billing'),
      ...Array.from({ length: 5 }, (_, index) => api.post('/apps/billing/tokens', { name: `k${index}` })),
    ]);
    expect(
      replies.map((reply) => reply.status).filter((status) => ![201, 204, 404, 409].includes(status)),
    ).toEqual([]);
    const exists = (await api.get('/apps/billing')).status === 200;
    const deleted = replies[5]?.status === 204;
    expect(exists).toBe(!deleted);
    const tree = await api.repository.loadAll();
    expect(tree.apps).toHaveLength(exists ? 1 : 0);
    expect(tree.keys.length > 0).toBe(exists);
  });

  it('give one of two versions the path that both want', async () => {
    await using api = await startManagement();
    await api.post('/apps', BILLING);
    const replies = await Promise.all(
      ['a', 'b', 'c', 'd'].map((version) =>
        api.post('/apps/billing/versions', { version, gateway_path: '/same' }),
      ),
    );
    expect(replies.filter((reply) => reply.status === 201)).toHaveLength(1);
    for (const reply of replies.filter((each) => each.status !== 201)) {
      expect(verdict(reply)).toEqual([409, 'conflict', ['/gateway_path']]);
    }
  });
});

describe('nextUpdatedAt', () => {
  it('is now, and always later than the last time, also when the clock steps back', () => {
    expect(nextUpdatedAt('2026-01-01T00:00:00.000Z', Date.parse('2026-01-01T00:00:05Z'))).toBe(
      '2026-01-01T00:00:05.000Z',
    );
    expect(nextUpdatedAt('2026-01-01T00:00:00.000Z', Date.parse('2026-01-01T00:00:00Z'))).toBe(
      '2026-01-01T00:00:00.001Z',
    );
    expect(nextUpdatedAt('2026-01-01T00:00:00.000Z', 0)).toBe('2026-01-01T00:00:00.001Z');
  });
});
