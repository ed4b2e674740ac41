import { randomBytes } from 'node:crypto';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConfigChange } from '../model/config.ts';
import type { StoredApiKey } from '../model/resources.ts';
import { createSecretBox } from '../storage/secret-box.ts';
import { oneRoute } from '../../test/support/proxy.ts';
import { hasSnapshotFile, readSnapshotFile, removeLeftovers, writeSnapshotFile } from './snapshot-file.ts';

const AT = '2026-01-31T12:00:00.000Z';
const SECRET = 'a secret of a policy, long enough to be one';
const box = createSecretBox(randomBytes(32), 'the test');

let folder: string;
let path: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-snapshot-'));
  path = join(folder, 'last.snapshot');
});
afterAll(() => rmSync(folder, { recursive: true }));

const key = (index: number): StoredApiKey => ({
  id: `key-${index}`,
  created_at: AT,
  updated_at: AT,
  app_id: 'app-1',
  name: `Schlüssel ${index}\u2028`,
  scopes: ['read'],
  token_prefix: 'hgk_abc',
  is_active: true,
  expires_at: null,
  last_used_at: null,
  rate_limit: null,
  token_hash: index.toString(16).padStart(64, '0'),
  previous_token_hash: null,
  previous_expires_at: null,
});

const config: ConfigChange = {
  ...oneRoute({
    backendPort: 1,
    policy: { auth: { auth_type: 'jwt', jwt: { secret: SECRET } } },
    endpoints: [{ policy_override: { allowed_methods: ['GET'] } }],
  }),
  configVersion: 42,
};

/** As the repository does it: keys in batches, and a change without them. */
async function loadAll(onKeys?: (keys: readonly StoredApiKey[]) => void): Promise<ConfigChange> {
  for (let batch = 0; batch < 3; batch++)
    onKeys?.(Array.from({ length: 500 }, (_, index) => key(batch * 500 + index)));
  return config;
}

beforeEach(async () => {
  await writeSnapshotFile(path, { loadAll }, box, AT);
});

describe('a snapshot file', () => {
  it('gives back what was written', () => {
    const keys = Array.from({ length: 1_500 }, (_, index) => key(index));
    const change = { ...config, keys };
    expect(readSnapshotFile(path, box)).toEqual({ change, writtenAt: AT, closedRecords: [] });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, 'utf8')).not.toContain(SECRET);
    expect(readdirSync(folder)).toEqual(['last.snapshot']);
  });

  it.each([undefined, createSecretBox(randomBytes(32), 'another')])(
    'without its key: every secret is another one, and the record is named',
    (other) => {
      const read = readSnapshotFile(path, other);
      expect(read).toMatchObject({ closedRecords: ['app-1'] });
      const secret = 'change' in read ? read.change.apps[0]?.app.default_policy?.auth?.jwt?.secret : '';
      expect(secret?.length).toBeGreaterThan(64);
      expect(JSON.stringify(read)).not.toContain(SECRET);
    },
  );

  it('is refused when any byte of it is another one', () => {
    const bytes = readFileSync(path);
    const positions = Array.from({ length: 200 }, (_, index) => Math.floor((index * bytes.length) / 200));
    // Of the head, the tail, and between.
    for (const position of [...positions, bytes.length - 10, bytes.length - 90]) {
      const changed = Buffer.from(bytes);
      changed[position] = (changed[position] ?? 0) ^ 1;
      writeFileSync(path, changed);
      expect([position, readSnapshotFile(path, box)]).toEqual([
        position,
        { error: expect.stringContaining(`Cannot use the snapshot file "${path}": `) },
      ]);
    }
  });

  it('is refused when it is torn, wherever', () => {
    const { size } = statSync(path);
    for (const bytes of [size - 1, size - 50, Math.floor(size / 2), 10, 1, 0]) {
      truncateSync(path, bytes);
      expect(readSnapshotFile(path, box)).toEqual({
        error: `Cannot use the snapshot file "${path}": it ends too early, as after a crash or on a full disk`,
      });
    }
  });

  it('is refused when it is of another format, or something else, or not there', () => {
    for (const content of ['nonsense\n', '{"lines":0}\n', randomBytes(3_000_000)]) {
      writeFileSync(path, content);
      expect(readSnapshotFile(path, box)).toHaveProperty('error');
    }
    rmSync(path);
    expect(hasSnapshotFile(path)).toBe(false);
    expect(readSnapshotFile(path, box)).toHaveProperty('error');
  });

  it('stays as it is when a later one cannot be written', async () => {
    const before = readFileSync(path);
    const failing = async (onKeys?: (keys: readonly StoredApiKey[]) => void): Promise<ConfigChange> => {
      onKeys?.([key(1)]);
      throw new Error('the database went away');
    };
    await expect(writeSnapshotFile(path, { loadAll: failing }, box, AT)).rejects.toThrow('went away');
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(readdirSync(folder)).toEqual(['last.snapshot']);
  });

  it('is cleared of what dead processes left beside it, and of nothing else', () => {
    for (const name of [
      'last.snapshot.999999999.new',
      `last.snapshot.${process.pid}.new`,
      'last.snapshot.x.new',
    ]) {
      writeFileSync(join(folder, name), '');
    }
    removeLeftovers(path);
    expect(readdirSync(folder).sort()).toEqual([
      'last.snapshot',
      `last.snapshot.${process.pid}.new`,
      'last.snapshot.x.new',
    ]);
  });
});
