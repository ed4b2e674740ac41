import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  appRecord,
  appTree,
  configChange,
  endpointRecord,
  keyRecord,
  revisionRecord,
  versionRecord,
  versionTree,
} from '../../test/support/data/config-records.ts';
import type { ConfigChange, VersionTree } from '../model/config.ts';
import type { EffectivePolicy } from '../model/policy.ts';
import type { App, Version } from '../model/resources.ts';
import { CompileError } from './compile-error.ts';
import { SnapshotHolder } from './holder.ts';
import { KeyTable } from '../keys/key-table.ts';

let compilations = 0;

function holderWith(...changes: Partial<ConfigChange>[]): SnapshotHolder<EffectivePolicy> {
  const holder = new SnapshotHolder<EffectivePolicy>((effective) => {
    compilations++;
    if ((effective.policy['required_scopes'] as string[] | undefined)?.includes('broken'))
      throw new Error('broken');
    return effective;
  });
  changes.forEach((fields, index) => holder.apply(configChange(index + 1, fields)));
  return holder;
}

function tree(id: string, appId: string, fields: Partial<Version> = {}, scope = `${id}-scope`): VersionTree {
  const revision = revisionRecord({
    id: `${id}-r`,
    version_id: id,
    default_policy: { required_scopes: [scope] },
  });
  return versionTree(versionRecord({ id, app_id: appId, ...fields }), {
    revision,
    endpoints: [endpointRecord({ path: '/a' })],
  });
}

const app = (id: string, ...versions: VersionTree[]) => appTree(appRecord({ id }), ...versions);
const found = (holder: SnapshotHolder<EffectivePolicy>, path: string): string | undefined =>
  holder.current.findVersion(path)?.id;

const idsOf = (holder: SnapshotHolder<EffectivePolicy>): string[] =>
  [...holder.versions()].map(({ id }) => id).sort();

function refuses(work: () => void): boolean {
  try {
    work();
    return false;
  } catch (error) {
    if (error instanceof CompileError) return true;
    throw error;
  }
}

describe('SnapshotHolder', () => {
  it('starts empty', () => {
    const holder = holderWith();
    expect(holder.current.configVersion).toBe(0);
    expect(found(holder, '/a')).toBeUndefined();
    expect(holder.current.findKeyByHash('0'.repeat(64))).toBeUndefined();
  });

  it('accepts a whole configuration of any version as the first change', () => {
    const holder = holderWith();
    holder.apply(
      configChange(41, {
        reset: true,
        apps: [app('a', tree('v1', 'a'), tree('v2', 'a'))],
        keys: [keyRecord({ id: '1' })],
      }),
    );
    expect(holder.current.configVersion).toBe(41);
    expect(found(holder, '/a/v2/x')).toBe('v2');
    expect(holder.keys.size).toBe(1);
    holder.apply(configChange(7, { reset: true, apps: [app('b', tree('w', 'b'))] }));
    expect(found(holder, '/a/v1')).toBeUndefined();
    expect(found(holder, '/b/w')).toBe('w');
    expect(holder.keys.size).toBe(0);
    expect([...holder.versions()].map(({ id }) => id)).toEqual(['w']);
  });

  it.each<[string, Partial<ConfigChange>, string[]]>([
    [
      'adds a version to an existing app',
      { versions: [tree('v2', 'a')] },
      ['/a/v1 v1', '/a/v2 v2', '/b/w w'],
    ],
    [
      'adds an app and its version separately',
      { apps: [app('c')], versions: [tree('x', 'c')] },
      ['/a/v1 v1', '/b/w w', '/c/x x'],
    ],
    ['removes a version', { removedVersionIds: ['v1'] }, ['/b/w w']],
    ['removes an app with its versions', { removedAppIds: ['a'] }, ['/b/w w']],
    [
      'replaces an app and removes the versions that it no longer has',
      { apps: [app('a', tree('v9', 'a'))] },
      ['/a/v9 v9', '/b/w w'],
    ],
    ['moves a version', { versions: [tree('v1', 'a', { gateway_path: '/moved' })] }, ['/moved v1', '/b/w w']],
    [
      'lets two versions exchange their paths',
      { versions: [tree('v1', 'a', { gateway_path: '/b/w' }), tree('w', 'b', { gateway_path: '/a/v1' })] },
      ['/a/v1 w', '/b/w v1'],
    ],
    [
      'gives a removed version’s path to another',
      { removedVersionIds: ['v1'], versions: [tree('w', 'b', { gateway_path: '/a/v1' })] },
      ['/a/v1 w'],
    ],
    [
      'ignores removals of unknown ids',
      { removedAppIds: ['?'], removedVersionIds: ['?'], removedKeyIds: ['?'] },
      ['/a/v1 v1', '/b/w w'],
    ],
  ])('%s', (_name, change, expected) => {
    const holder = holderWith({ apps: [app('a', tree('v1', 'a')), app('b', tree('w', 'b'))] }, change);
    expect([...holder.versions()].map(({ gatewayPath, id }) => `${gatewayPath} ${id}`).sort()).toEqual(
      [...expected].sort(),
    );
    for (const each of expected) {
      const [path = '', id] = each.split(' ');
      expect(found(holder, path)).toBe(id);
    }
    expect(found(holder, '/a/v1') === undefined).toBe(!expected.some((each) => each.startsWith('/a/v1')));
  });

  it.each<[string, Partial<ConfigChange>, RegExp]>([
    [
      'a policy does not compile',
      { apps: [app('c', tree('x', 'c'))], versions: [tree('v2', 'a', {}, 'broken')] },
      /broken/,
    ],
    ['a path does not parse', { versions: [tree('v1', 'a', { gateway_path: 'x' })] }, /must start with/],
    ['the app of a version is unknown', { versions: [tree('v2', 'a9')] }, /app a9 is unknown/],
    [
      'the same change removes the app of a version',
      { removedAppIds: ['a'], versions: [tree('v2', 'a')] },
      /app a is unknown/,
    ],
    [
      'a gateway path is taken',
      { versions: [tree('v2', 'a', { gateway_path: '/b/w' })] },
      /version w of b has the same/,
    ],
    [
      'a change contains a gateway path twice',
      { versions: [tree('v2', 'a', { gateway_path: '/n' }), tree('v3', 'a', { gateway_path: '/n' })] },
      /version v2 of a has the same/,
    ],
  ])('changes nothing when %s', (_name, change, message) => {
    const holder = holderWith({
      apps: [app('a', tree('v1', 'a')), app('b', tree('w', 'b'))],
      keys: [keyRecord({ id: '1' })],
    });
    const before = holder.current;
    const version = before.findVersion('/a/v1');
    const { generation } = holder.keys;
    const bad = configChange(2, {
      ...change,
      removedVersionIds: ['v1'],
      keys: [keyRecord({ id: '2' })],
      removedKeyIds: ['1'],
    });
    expect(() => holder.apply(bad)).toThrow(CompileError);
    expect(() => holder.apply(bad)).toThrow(message);
    expect(() =>
      holder.apply({ ...bad, reset: true, apps: [...bad.apps, app('a', tree('v', 'a', {}, 'broken'))] }),
    ).toThrow(CompileError);
    expect(holder.current).toBe(before);
    expect(holder.current.findVersion('/a/v1')).toBe(version);
    expect([...holder.versions()].map(({ id }) => id).sort()).toEqual(['v1', 'w']);
    expect(holder.keys.generation).toBe(generation);
    expect(holder.keys.findKeyById('1')).toBeDefined();
    holder.apply(configChange(2, { versions: [tree('v2', 'a')] }));
    expect(found(holder, '/a/v2')).toBe('v2');
  });

  it('refuses a change that is not the next', () => {
    const holder = holderWith({ apps: [app('a', tree('v1', 'a'))] });
    for (const wrong of [0, 1, 3]) {
      expect(() => holder.apply(configChange(wrong, { removedAppIds: ['a'] }))).toThrow(/must follow it/);
    }
    expect(found(holder, '/a/v1')).toBe('v1');
  });

  it('compiles only what a change touches', () => {
    const many = Array.from({ length: 200 }, (_, n) => app(`app${n}`, tree(`v${n}`, `app${n}`)));
    const holder = holderWith({ apps: many });
    const untouched = holder.current.findVersion('/app1/v1');
    compilations = 0;
    holder.apply(configChange(2, { versions: [tree('v7', 'app7')] }));
    expect(compilations).toBe(1);
    holder.apply(configChange(3, { keys: [keyRecord({ id: '1' })], removedKeyIds: ['2'] }));
    expect(compilations).toBe(1);
    expect(holder.current.findVersion('/app1/v1')).toBe(untouched);
    expect(holder.current.configVersion).toBe(3);
  });

  it('keeps the objects that an exchange has taken', () => {
    const holder = holderWith({ apps: [app('a', tree('v1', 'a'))] });
    const snapshot = holder.current;
    const version = snapshot.findVersion('/a/v1');
    const before = JSON.stringify(version?.revisions[0]?.backend);
    holder.apply(configChange(2, { removedAppIds: ['a'] }));
    expect(snapshot.configVersion).toBe(1);
    expect(JSON.stringify(version?.revisions[0]?.backend)).toBe(before);
    expect(version?.revisions[0]?.fallback?.active).toBe(true);
  });

  it('applies an app’s new fields to its versions', () => {
    const changed: Partial<App> & { id: string } = {
      id: 'a',
      allow_encoded_slashes: true,
      routing_mode: 'managed_endpoint',
    };
    const holder = holderWith(
      { apps: [app('a', tree('v1', 'a'))] },
      { apps: [appTree(appRecord(changed), tree('v1', 'a'))] },
      { versions: [tree('v2', 'a')] },
    );
    for (const path of ['/a/v1', '/a/v2']) {
      expect(holder.current.findVersion(path)?.app).toMatchObject({
        managed: true,
        allowEncodedSlashes: true,
      });
    }
  });

  it('keeps the weighted choice of a version while its weights do not change', () => {
    const two = versionTree(
      versionRecord({ id: 'v', app_id: 'a' }),
      { revision: revisionRecord({ id: 'x' }), endpoints: [] },
      { revision: revisionRecord({ id: 'y' }), endpoints: [] },
    );
    const holder = holderWith({ apps: [app('a', two)] });
    const choice = holder.current.findVersion('/a/v')?.choice;
    holder.apply(configChange(2, { apps: [app('a', two)] }));
    expect(choice).toBeDefined();
    expect(holder.current.findVersion('/a/v')?.choice).toBe(choice);
  });

  it('serves keys from an existing table', () => {
    const keys = new KeyTable();
    const holder = new SnapshotHolder<null>(() => null, keys);
    const { generation } = keys;
    holder.apply(configChange(1, { keys: [keyRecord({ id: '1', token_hash: 'f'.repeat(64) })] }));
    expect(holder.current.findKeyByHash('f'.repeat(64))?.id).toBe('1');
    expect(keys.generation).toBeGreaterThan(generation);
  });

  it('lets apps swap their hosts, and refuses two that have one in common', () => {
    const at = (id: string, ...hosts: string[]) =>
      appTree(appRecord({ id, hosts }), tree(`${id}1`, id, { gateway_path: '/p' }));
    const holder = holderWith({ apps: [at('a', 'a.test', '*.a.test'), at('b', 'b.test'), at('c')] });
    const ids = () =>
      ['a.test', 'x.a.test', 'b.test', 'c.test'].map((host) => holder.current.findVersion('/p', host)?.id);
    expect(ids()).toEqual(['a1', 'a1', 'b1', 'c1']);
    expect(refuses(() => holder.apply(configChange(2, { apps: [at('b', 'b.test', 'a.test')] })))).toBe(true);
    expect(refuses(() => holder.apply(configChange(2, { apps: [at('b')] })))).toBe(true);
    expect(ids()).toEqual(['a1', 'a1', 'b1', 'c1']);
    holder.apply(configChange(2, { apps: [at('b', 'a.test'), at('a', 'b.test', '*.a.test'), at('c')] }));
    expect(ids()).toEqual(['b1', 'a1', 'a1', 'c1']);
    holder.apply(configChange(3, { apps: [at('c', 'a.test'), at('b')] }));
    expect(ids()).toEqual(['c1', 'a1', 'a1', 'b1']);
    expect(
      refuses(() => holder.apply(configChange(4, { reset: true, apps: [at('a', 'x'), at('b', 'x')] }))),
    ).toBe(true);
    holder.apply(configChange(4, { reset: true, apps: [at('c')] }));
    expect(ids()).toEqual(['c1', 'c1', 'c1', 'c1']);
  });

  it('reaches the same state through changes as through one load of the result', () => {
    const step = fc.record({
      app: fc.constantFrom('a', 'b', 'c'),
      version: fc.constantFrom('1', '2', '3'),
      path: fc.constantFrom('/p', '/p/q', '/r', '/'),
      kind: fc.oneof(
        { weight: 2, arbitrary: fc.constant('put') },
        fc.constantFrom(
          'remove-version',
          'remove-app',
          'replace-app',
          'swap',
          'reset',
          'ask',
          'ask-of-before',
        ),
      ),
    });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40, size: 'max' }),
        fc.constantFrom('/', '/p/q/x', '/p/z', '/r'),
        (steps, path) => {
          const held = new Map<string, Map<string, VersionTree>>();
          const holder = holderWith({ apps: ['a', 'b', 'c'].map((id) => app(id)) });
          for (const id of ['a', 'b', 'c']) held.set(id, new Map());
          let configVersion = 1;
          let before = holder.current;
          for (const each of steps) {
            // A request takes a version into use, which must make no difference.
            if (each.kind === 'ask') found(holder, each.path);
            if (each.kind === 'ask-of-before') before.findVersion(each.path);
            if (each.kind.startsWith('ask')) continue;
            const id = `${each.app}${each.version}`;
            const own = held.get(each.app) as Map<string, VersionTree>;
            const put = tree(id, each.app, { gateway_path: each.path });
            const others = [...held.values()]
              .flatMap((trees) => [...trees.values()])
              .filter((other) => other.version.id !== id);
            const isTaken = others.some(
              ({ version }) =>
                version.gateway_path === each.path &&
                (each.kind !== 'replace-app' || version.app_id !== each.app),
            );
            let change: Partial<ConfigChange>;
            if (each.kind === 'put') change = { versions: [put] };
            else if (each.kind === 'replace-app') change = { apps: [app(each.app, put)] };
            else if (each.kind === 'remove-version') change = { removedVersionIds: [id] };
            else if (each.kind === 'swap') {
              const [first, second] = [own.get(id), others[0]];
              if (first === undefined || second === undefined) continue;
              const [a, b] = [first.version, second.version];
              const moved = [
                tree(a.id, a.app_id, { gateway_path: b.gateway_path }),
                tree(b.id, b.app_id, { gateway_path: a.gateway_path }),
              ];
              change = { versions: moved };
              for (const one of moved) held.get(one.version.app_id)?.set(one.version.id, one);
            } else if (each.kind === 'reset') {
              own.clear();
              before = holder.current;
              change = { reset: true, apps: [...held].map(([of, trees]) => app(of, ...trees.values())) };
            } else change = { removedAppIds: [each.app], apps: [app(each.app)] };
            const next = configChange(configVersion + 1, change);
            const puts = each.kind === 'put' || each.kind === 'replace-app';
            const isRefused = refuses(() => holder.apply(next));
            expect(isRefused).toBe(puts && isTaken);
            if (isRefused) continue;
            configVersion++;
            if (each.kind === 'remove-app' || each.kind === 'replace-app') own.clear();
            if (puts) own.set(id, put);
            if (each.kind === 'remove-version') own.delete(id);
          }
          const fresh = holderWith({
            reset: true,
            apps: [...held].map(([id, trees]) => app(id, ...trees.values())),
          });
          expect(idsOf(holder)).toEqual(idsOf(fresh));
          expect(found(holder, path)).toBe(found(fresh, path));
        },
      ),
      { numRuns: 300 },
    );
  });
});
