import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasValidChecksum } from '../model/token.ts';
import { openSqlite } from '../storage/sqlite.ts';
import type { Repository } from '../storage/repository.ts';
import { ensureFirstAdminToken } from './first-admin-token.ts';
import { manualClock, startManagement } from './management.fixture.ts';

const clock = manualClock();
let folder: string;
let repository: Repository;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-token-'));
  repository = await openSqlite({ path: join(folder, 'test.db'), autoMigrate: true, clock });
});
afterEach(async () => {
  await repository.close();
  await rm(folder, { recursive: true });
});

describe('ensureFirstAdminToken', () => {
  it('makes a token that works and keeps it in a file for its owner only', async () => {
    const first = await ensureFirstAdminToken(repository, clock, folder);
    expect(first?.file).toBe(join(folder, 'admin-token'));
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
    const first = await ensureFirstAdminToken(repository, clock, folder);
    expect(await ensureFirstAdminToken(repository, clock, folder)).toBeUndefined();
    expect(await readFile(join(folder, 'admin-token'), 'utf8')).toBe(`${first?.token}\n`);
  });

  it('makes one only when two processes start at once, and the file holds that one', async () => {
    const other = await openSqlite({ path: join(folder, 'test.db'), autoMigrate: true, clock });
    const made = await Promise.all([
      ensureFirstAdminToken(repository, clock, folder),
      ensureFirstAdminToken(other, clock, folder),
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
    const first = await ensureFirstAdminToken(repository, clock, folder);
    expect(await readFile(join(folder, 'admin-token'), 'utf8')).toBe(`${first?.token}\n`);
    expect((await stat(join(folder, 'admin-token'))).mode & 0o777).toBe(0o600);
    expect((await readdir(folder)).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  it('is not stopped by what a start that was cut off has left', async () => {
    await writeFile(join(folder, `admin-token.${process.pid}.new`), 'half');
    const first = await ensureFirstAdminToken(repository, clock, folder);
    expect(await readFile(join(folder, 'admin-token'), 'utf8')).toBe(`${first?.token}\n`);
    expect((await readdir(folder)).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  it('stores nothing when the file cannot be written', async () => {
    await expect(ensureFirstAdminToken(repository, clock, join(folder, 'missing'))).rejects.toThrow(
      /Cannot write the admin token to ".*missing.*the folder must be writable/,
    );
    expect(await repository.countAdminTokens()).toBe(0);
    expect(await ensureFirstAdminToken(repository, clock, folder)).toBeDefined();
  });

  it('writes no file for a database without a folder', async () => {
    const first = await ensureFirstAdminToken(repository, clock, undefined);
    expect(first?.file).toBeUndefined();
    expect((await readdir(folder)).includes('admin-token')).toBe(false);
  });
});
