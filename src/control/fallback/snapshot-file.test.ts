import { hash, randomBytes } from 'node:crypto';
import {
  appendFileSync,
  mkdirSync,
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
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { keyRecord, versionRecord, versionTree } from '../../../test/support/data/config-records.ts';
import { oneRoute } from '../../../test/support/proxy.ts';
import type { ConfigChange } from '../../model/config.ts';
import type { StoredApiKey } from '../../model/resources.ts';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import { createSecretBox } from '../../storage/secrets/secret-box.ts';
import { ConfigState } from '../cluster/config-state.ts';
import { hasSnapshotFile, readSnapshotFile, removeLeftovers, SnapshotFile } from './snapshot-file.ts';
import { allParts, applyPart, ChangedIds, changedParts } from './snapshot-parts.ts';

const AT = '2026-01-31T12:00:00.000Z';
const SECRET = 'a secret of a policy, long enough to be one';
const sealing = { box: createSecretBox([randomBytes(32)], 'the test'), places: SECRET_PLACES };
let folder: string;
let path: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-snapshot-'));
  path = join(folder, 'last.snapshot');
});
afterAll(() => rmSync(folder, { recursive: true }));

const keyOf = (index: number, fields: Partial<StoredApiKey> = {}): StoredApiKey =>
  keyRecord({
    id: `key-${index}`,
    name: `Schlüssel ${index}\u2028`,
    token_hash: hash('sha256', String(index)),
    ...fields,
  });
const keys = (count: number): StoredApiKey[] => Array.from({ length: count }, (_, index) => keyOf(index));
const rules: ConfigChange = {
  ...oneRoute({
    backendPort: 1,
    policy: { auth: { auth_type: 'jwt', jwt: { secret: SECRET } } },
    endpoints: [{ policy_override: { allowed_methods: ['GET'] } }],
  }),
  configVersion: 42,
};
const change = (fields: Partial<ConfigChange>): ConfigChange => ({
  ...rules,
  reset: false,
  apps: [],
  ...fields,
});

let state: ConfigState;
let file: SnapshotFile;
const filled = (count: number): ConfigState => {
  const full = new ConfigState();
  full.apply({ ...rules, keys: keys(count) });
  return full;
};
async function write(all: ConfigState): Promise<SnapshotFile> {
  const written = await SnapshotFile.create(path);
  for (const part of allParts(all, sealing)) await written.append(part);
  await written.endGroup(all.configVersion, AT);
  await written.putInPlace();
  return written;
}
async function append(...changes: readonly ConfigChange[]): Promise<void> {
  const ids = new ChangedIds();
  for (const each of changes) {
    state.apply(each);
    ids.add(each);
  }
  for (const part of changedParts(state, sealing, ids)) await file.append(part);
  await file.endGroup(state.configVersion, AT);
}
const inOrder = (whole: ConfigChange): ConfigChange => ({
  ...whole,
  keys: [...whole.keys].sort((a, b) => (a.id < b.id ? -1 : 1)),
});
function read(with_ = sealing) {
  const saved = readSnapshotFile(path, with_);
  return 'error' in saved ? saved : { ...saved, state: inOrder(saved.state.asChange()) };
}

beforeEach(async () => {
  state = filled(3);
  file = await write(state);
  return () => file.close();
});

describe('a part of a file that a program without hosts has written', () => {
  it('has apps for every host', () => {
    const state = new ConfigState();
    const { hosts: _hosts, ...app } = rules.apps[0]?.app ?? {};
    const payload = Buffer.from(`${JSON.stringify({ app })}\n`);
    applyPart(state, { kind: 'JSON', payload }, 7);
    expect(state.asWorkerChange().apps.map(({ app: read }) => read.hosts)).toEqual([[]]);
  });
});

describe('a snapshot file', () => {
  it('returns what was written', async () => {
    state = filled(1_000);
    await file.close();
    file = await write(state);
    expect(read()).toEqual({
      state: inOrder(state.asChange()),
      configVersion: 42,
      writtenAt: AT,
      closedRecords: [],
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, 'utf8')).not.toContain(SECRET);
    expect(readdirSync(folder)).toEqual(['last.snapshot']);
  });

  it('returns what was appended', async () => {
    const version = versionRecord({ id: 'v2', app_id: 'app-1' });
    await append(
      change({ configVersion: 43, versions: [versionTree(version)] }),
      change({ configVersion: 44, keys: [keyOf(1, { is_active: false }), keyOf(9)] }),
    );
    await append(change({ configVersion: 45, removedVersionIds: ['ver-1'], removedKeyIds: ['key-2'] }));
    const again = read();
    expect(again).toMatchObject({ state: inOrder(state.asChange()), configVersion: 45 });
    expect(JSON.stringify(again)).toContain(SECRET);
    await append(change({ configVersion: 46, removedAppIds: ['app-1'] }));
    expect(read()).toMatchObject({ state: { apps: [] }, configVersion: 46 });
    expect(readFileSync(path, 'utf8')).not.toContain(SECRET);
  });

  it.each([undefined, createSecretBox([randomBytes(32)], 'another')])(
    'without the key has random secrets, and names the records',
    (other) => {
      const saved = readSnapshotFile(path, { ...sealing, box: other });
      expect(saved).toMatchObject({ closedRecords: ['app-1'] });
      const policy = 'state' in saved ? saved.state.appOf('app-1')?.default_policy : undefined;
      const auth = policy?.['auth'] as { jwt: { secret: string } } | undefined;
      const secret = auth?.jwt.secret;
      expect(secret?.length).toBeGreaterThan(64);
      expect(secret).not.toContain(SECRET);
    },
  );

  it('is refused if any byte is changed', async () => {
    await append(change({ configVersion: 43, keys: [keyOf(9)] }));
    const bytes = readFileSync(path);
    // Every byte of the first frames, and every fifth of the others.
    for (let position = 0; position < bytes.length; position += position < 150 ? 1 : 5) {
      const changed = Buffer.from(bytes);
      changed[position] = (changed[position] ?? 0) ^ 1;
      writeFileSync(path, changed);
      expect([position, readSnapshotFile(path, sealing)]).toEqual([
        position,
        { error: expect.stringContaining(`Cannot use the snapshot file "${path}": `) },
      ]);
    }
  });

  it('is refused if a frame is missing or moved', async () => {
    const wholeBytes = file.bytes;
    await append(change({ configVersion: 43, keys: [keyOf(9)] }));
    const middleBytes = file.bytes;
    await append(change({ configVersion: 44, keys: [keyOf(10)] }));
    const bytes = readFileSync(path);
    const [whole, first, second] = [
      bytes.subarray(0, wholeBytes),
      bytes.subarray(wholeBytes, middleBytes),
      bytes.subarray(middleBytes),
    ];
    for (const other of [
      [whole, second],
      [whole, second, first],
      [whole, first, first],
      [first, second],
    ]) {
      writeFileSync(path, Buffer.concat(other));
      expect(read()).toHaveProperty('error', expect.stringMatching(/damaged or changed|has the format/));
    }
  });

  it('is refused if it ends anywhere within the first group', () => {
    const { size } = statSync(path);
    for (const bytes of [size - 1, size - 50, Math.floor(size / 2), 10, 1, 0]) {
      truncateSync(path, bytes);
      expect(readSnapshotFile(path, sealing)).toEqual({
        error: `Cannot use the snapshot file "${path}": it ends too early, as after a crash or on a full disk`,
      });
    }
  });

  it('has the previous state if it ends within an appended group', async () => {
    const before = read();
    const wholeBytes = file.bytes;
    await append(change({ configVersion: 43, keys: [keyOf(9)], removedKeyIds: ['key-0'] }));
    for (let bytes = file.bytes - 1; bytes > wholeBytes; bytes -= 5) {
      truncateSync(path, bytes);
      expect([bytes, read()]).toEqual([bytes, before]);
    }
  });

  it('is refused if it has another format, is another file, or is missing', () => {
    for (const [content, reason] of [
      [
        '{"format":"headgate snapshot 1","written_at":"x"}\n',
        /has the format "headgate snapshot 1"; expected/,
      ],
      ['nonsense\n', /has the format of another program/],
      [Buffer.alloc(3_000_000, 'x'), /is not a snapshot file/],
    ] as const) {
      writeFileSync(path, content);
      expect(read()).toHaveProperty('error', expect.stringMatching(reason));
    }
    rmSync(path);
    expect(hasSnapshotFile(path)).toBe(false);
    expect(read()).toHaveProperty('error');
  });

  it('is unchanged if a later one is not finished, or if another process was faster', async () => {
    const before = readFileSync(path);
    const unfinished = await SnapshotFile.create(path);
    for (const part of allParts(filled(1), sealing)) await unfinished.append(part);
    await unfinished.close();
    expect(readFileSync(path).equals(before)).toBe(true);
    const slower = await SnapshotFile.create(path);
    rmSync(path);
    writeFileSync(path, before);
    appendFileSync(path, '');
    await expect(slower.putInPlace()).rejects.toThrow('another process');
    await slower.close();
    expect(file.isInPlace).toBe(false);
    expect(readdirSync(folder)).toEqual(['last.snapshot']);
  });

  it('is left behind unfinished if it cannot be removed, as on a read-only disk', async () => {
    const unfinished = await SnapshotFile.create(path);
    const [name = ''] = readdirSync(folder).filter((each) => each.endsWith('.new'));
    // Removing a file fails for a folder.
    rmSync(join(folder, name));
    mkdirSync(join(folder, name));
    await expect(unfinished.close()).resolves.toBeUndefined();
    expect(readdirSync(folder)).toContain(name);
    rmSync(join(folder, name), { recursive: true });
  });

  it('removes only the temporary files of dead processes beside it', () => {
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
    for (const name of readdirSync(folder)) if (name !== 'last.snapshot') rmSync(join(folder, name));
  });
});

type Step =
  | { readonly key: number }
  | { readonly lostKey: number }
  | { readonly version: number }
  | 'app'
  | 'part';

describe('changes while a file is written', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ key: fc.nat({ max: 90 }) }),
      fc.record({ lostKey: fc.nat({ max: 90 }) }),
      fc.record({ version: fc.nat({ max: 6 }) }),
      fc.constant<Step>('app'),
      fc.constant<Step>('part'),
    ),
    { maxLength: 60 },
  );
  let number = 0;
  /** Each is a different record from the previous one. */
  function changeOf(step: Exclude<Step, 'part'>): ConfigChange {
    const label = `change ${number++}`;
    const next = { configVersion: state.configVersion + 1 };
    if (step === 'app') {
      const [tree] = state.asWorkerChange().apps;
      if (tree === undefined) return change({ ...next, apps: rules.apps });
      return number % 3 === 0
        ? change({ ...next, removedAppIds: [tree.app.id] })
        : change({ ...next, apps: [{ ...tree, app: { ...tree.app, name: label } }] });
    }
    if ('key' in step) return change({ ...next, keys: [keyOf(step.key, { name: label })] });
    if ('lostKey' in step) return change({ ...next, removedKeyIds: [`key-${step.lostKey}`] });
    const id = `v${step.version}`;
    if (state.appOf('app-1') === undefined || number % 3 === 0)
      return change({ ...next, removedVersionIds: [id] });
    return change({
      ...next,
      versions: [versionTree(versionRecord({ id, app_id: 'app-1', version: label }))],
    });
  }

  it('are all in it, whatever their kind and time', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        state = filled(70);
        const changed = new ChangedIds();
        const parts = allParts(state, sealing, 1_000);
        const written = await SnapshotFile.create(path);
        const part = async (): Promise<boolean> => {
          const next = parts.next();
          if (next.done !== true) await written.append(next.value);
          return next.done !== true;
        };
        for (const step of all) {
          if (step === 'part') await part();
          else {
            const next = changeOf(step);
            state.apply(next);
            changed.add(next);
          }
        }
        while (await part());
        await written.endGroup(1, AT);
        for (const each of changedParts(state, sealing, changed)) await written.append(each);
        await written.endGroup(state.configVersion, AT);
        await written.putInPlace();
        await written.close();
        const saved = read();
        expect('state' in saved && byId(saved.state)).toEqual(byId(inOrder(state.asChange())));
      }),
      { numRuns: 100 },
    );
  });

  /** Sorts versions by id: their order has no meaning. */
  function byId(whole: ConfigChange): ConfigChange {
    const apps = whole.apps.map(({ app, versions }) => ({
      app,
      versions: [...versions].sort((a, b) => (a.version.id < b.version.id ? -1 : 1)),
    }));
    return { ...whole, apps };
  }
});
