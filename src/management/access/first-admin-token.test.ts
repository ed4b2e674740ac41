import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import { hasValidChecksum } from '../../model/token.ts';
import { openSqlite } from '../../storage/sqlite/sqlite.ts';
import type { Repository } from '../../storage/repository.ts';
import type { DatabaseFolder } from './admin-token-file.ts';
import { ensureFirstAdminToken } from './first-admin-token.ts';
import { manualClock, startManagement } from '../management.fixture.ts';

const clock = manualClock();
let folder: string;
let repository: Repository;
/** Of a database with its snapshot file. */
const place = (of = folder, name = 'test.db'): DatabaseFolder => ({
  folder: of,
  files: [join(of, name), join(of, `${name}.snapshot`)],
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-token-'));
  repository = await openSqlite({
    secretPlaces: SECRET_PLACES,
    path: join(folder, 'test.db'),
    autoMigrate: true,
    clock,
  });
});
afterEach(async () => {
  await repository.close();
  await rm(folder, { recursive: true });
});

describe('ensureFirstAdminToken', () => {
  it('makes a token that works and keeps it in a file for its owner only', async () => {
    const first = await ensureFirstAdminToken(repository, clock, place());
    expect(first?.file).toEqual({ path: join(folder, 'admin-token'), other: undefined });
    expect(hasValidChecksum(first?.token ?? '')).toBe(true);
    expect(await readFile(join(folder, 'admin-token'), 'utf8')).toBe(`${first?.token}\n`);
    expect((await stat(join(folder, 'admin-token'))).mode & 0o777).toBe(0o600);
    await using api = await startManagement({ repository, adminToken: undefined });
    const token = first?.token ?? '';
    expect((await api.get('/admin/tokens', { token })).body.data).toMatchObject([
      { role: 'admin', expires_at: null },
    ]);
    expect((await api.get('/audit', { token })).body.data).toMatchObject([
      { actor: 'system', action: 'admin_token.create' },
    ]);
  });

  it('does nothing when there is a token already', async () => {
    const first = await ensureFirstAdminToken(repository, clock, place());
    expect(await ensureFirstAdminToken(repository, clock, place())).toBeUndefined();
    expect(await readFile(join(folder, 'admin-token'), 'utf8')).toBe(`${first?.token}\n`);
  });

  it('makes one token only when two processes start at once, and the file holds it', async () => {
    const other = await openSqlite({
      secretPlaces: SECRET_PLACES,
      path: join(folder, 'test.db'),
      autoMigrate: true,
      clock,
    });
    const made = await Promise.all([
      ensureFirstAdminToken(repository, clock, place()),
      ensureFirstAdminToken(other, clock, place()),
    ]);
    await other.close();
    const tokens = made.flatMap((first) => (first === undefined ? [] : [first.token]));
    expect(tokens).toHaveLength(1);
    expect(await readFile(join(folder, 'admin-token'), 'utf8')).toBe(`${tokens[0]}\n`);
    expect(await repository.countAdminTokens()).toBe(1);
  });

  it('replaces an old file, and does not keep its mode', async () => {
    await writeFile(join(folder, 'admin-token'), 'old');
    await chmod(join(folder, 'admin-token'), 0o644);
    const first = await ensureFirstAdminToken(repository, clock, place());
    expect(await readFile(join(folder, 'admin-token'), 'utf8')).toBe(`${first?.token}\n`);
    expect((await stat(join(folder, 'admin-token'))).mode & 0o777).toBe(0o600);
    expect((await readdir(folder)).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  it('replaces the token of a deleted database that has left only other files', async () => {
    await writeFile(join(folder, 'admin-token'), 'old');
    await writeFile(join(folder, 'test.db.snapshot'), '{"format":"headgate snapshot 2"}\n');
    await writeFile(join(folder, 'secret-key'), 'x');
    await mkdir(join(folder, 'other.db'));
    await symlink(join(folder, 'test.db'), join(folder, 'also-test.db'));
    await link(join(folder, 'test.db'), join(folder, 'test-too.db'));
    const first = await ensureFirstAdminToken(repository, clock, place());
    expect(await readFile(join(folder, 'admin-token'), 'utf8')).toBe(`${first?.token}\n`);
  });

  it.each([
    ['an SQLite file', 'SQLite format 3\0\x10\0'],
    ['a snapshot file', '{"format":"headgate snapshot 2"}\n'],
  ])('leaves one alone that may be of another database: %s', async (_what, content) => {
    await writeFile(join(folder, 'admin-token'), 'of the other one');
    await writeFile(join(folder, 'other'), content);
    await writeFile(join(folder, 'admin-token-test.db'), 'of one that is gone');
    const first = await ensureFirstAdminToken(repository, clock, place());
    const own = join(folder, 'admin-token-test.db');
    expect(first?.file).toEqual({ path: own, other: join(folder, 'admin-token') });
    expect(await readFile(join(folder, 'admin-token'), 'utf8')).toBe('of the other one');
    expect(await readFile(own, 'utf8')).toBe(`${first?.token}\n`);
    expect((await stat(own)).mode & 0o777).toBe(0o600);
  });

  it('is not stopped by the remains of an interrupted start', async () => {
    await writeFile(join(folder, `admin-token.${process.pid}.new`), 'half');
    const first = await ensureFirstAdminToken(repository, clock, place());
    expect(await readFile(join(folder, 'admin-token'), 'utf8')).toBe(`${first?.token}\n`);
    expect((await readdir(folder)).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  it('stores nothing when the file cannot be written', async () => {
    await expect(ensureFirstAdminToken(repository, clock, place(join(folder, 'missing')))).rejects.toThrow(
      /Cannot write the admin token to ".*missing.*the folder must be writable/,
    );
    expect(await repository.countAdminTokens()).toBe(0);
    expect(await ensureFirstAdminToken(repository, clock, place())).toBeDefined();
  });

  it('writes no file for a database without a folder', async () => {
    const first = await ensureFirstAdminToken(repository, clock, undefined);
    expect(first?.file).toBeUndefined();
    expect((await readdir(folder)).includes('admin-token')).toBe(false);
  });
});
