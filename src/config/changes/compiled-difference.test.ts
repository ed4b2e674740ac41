import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  appRecord,
  appTree,
  configChange,
  endpointRecord,
  revisionRecord,
  versionRecord,
  versionTree,
} from '../../../test/support/data/config-records.ts';
import { inOneTurn } from './slices.ts';
import type { AppTree, ConfigChange, RevisionTree, VersionTree } from '../../model/config.ts';
import type { EffectivePolicy } from '../../model/policy.ts';
import type { App, Endpoint, Revision } from '../../model/resources.ts';
import { compiledDifference, NOT_COMPILED, type KnownConfig } from './compiled-difference.ts';
import { SnapshotHolder } from '../holder.ts';

interface Fields {
  readonly app?: Partial<App>;
  readonly version?: object;
  readonly revision?: Partial<Revision>;
  readonly endpoint?: Partial<Endpoint>;
  readonly draft?: Partial<Revision>;
}

/** An app with two versions; the first has a current revision with an endpoint, and one that is not current. */
function tree({ app, version, revision, endpoint, draft }: Fields = {}): AppTree {
  const first = versionTree(
    versionRecord({ id: 'v1', app_id: 'a', ...version }),
    {
      revision: revisionRecord({ id: 'r1', ...revision }),
      endpoints: [
        endpointRecord({ path: '/x', id: 'x', ...endpoint }),
        endpointRecord({ path: '/y', id: 'y' }),
      ],
    },
    { revision: revisionRecord({ id: 'r2', is_current: false, ...draft }), endpoints: [] },
  );
  return appTree(appRecord({ id: 'a', ...app }), first, other);
}

const other = versionTree(versionRecord({ id: 'v2', app_id: 'a' }), {
  revision: revisionRecord({ id: 'r3' }),
  endpoints: [],
});

function stateWith({ app, versions }: AppTree): KnownConfig {
  return {
    appOf: (id) => (id === app.id ? app : undefined),
    versionTree: (id) => versions.find(({ version }) => version.id === id),
    versionIdsOf: () => versions.map(({ version }) => version.id),
  };
}

const difference = (
  change: ConfigChange,
  state: KnownConfig,
  isCompiled?: (tree: RevisionTree) => boolean,
): ConfigChange => inOneTurn(compiledDifference(structuredClone(change), state, isCompiled));

const compiledOf = ({ apps, versions, removedVersionIds, endpoints }: ConfigChange) => ({
  apps: apps.map(({ app }) => app.id),
  versions: versions.map(({ version }) => version.id),
  ...(removedVersionIds.length > 0 && { removedVersionIds }),
  ...(endpoints && { endpoints: endpoints.map(({ endpointId }) => endpointId) }),
});

const NOTHING = { apps: [], versions: [] };
const STRICT = { allowed_methods: ['GET'] };
const V1 = { apps: [], versions: ['v1'] };
const ALL = { apps: ['a'], versions: [] };

describe('what of a changed app is compiled', () => {
  it.each<[string, Fields, object]>([
    ['nothing when nothing differs', {}, NOTHING],
    ['nothing for its description', { app: { description: 'new', updated_at: 'later' } }, NOTHING],
    ['nothing for its labels', { app: { labels: { owner: 'me' } } }, NOTHING],
    ['everything for its policy', { app: { default_policy: STRICT } }, ALL],
    ['everything for its hosts', { app: { hosts: ['a.example'] } }, ALL],
    ['the version that differs', { version: { status: 'deprecated' } }, V1],
    ['the version of a revision that differs', { revision: { backend_port: 1 } }, V1],
    ['the version of an endpoint that differs', { endpoint: { policy_override: STRICT } }, V1],
    ['nothing for times', { version: { updated_at: 'later' }, endpoint: { updated_at: 'later' } }, NOTHING],
    ['nothing for a revision that gets no traffic', { draft: { backend_port: 1 } }, NOTHING],
    ['the version of a revision that gets traffic now', { draft: { is_current: true } }, V1],
  ])('%s', (_name, fields, expected) => {
    const change = configChange(2, { apps: [tree(fields)] });
    expect(compiledOf(difference(change, stateWith(tree())))).toEqual(expected);
  });

  it('in a check, also a revision that gets no traffic', () => {
    const change = configChange(2, { apps: [tree({ draft: { backend_port: 1 } })] });
    expect(compiledOf(difference(change, stateWith(tree()), () => true))).toEqual(V1);
  });

  it('removes a version that it no longer has, and adds a new one', () => {
    const state = stateWith(tree());
    const added = versionTree(versionRecord({ id: 'v3', app_id: 'a' }));
    const { app, versions } = tree();
    const change = configChange(2, { apps: [{ app, versions: [...versions.slice(0, 1), added] }] });
    expect(compiledOf(difference(change, state))).toEqual({
      apps: [],
      versions: ['v3'],
      removedVersionIds: ['v2'],
    });
  });

  it('a change of everything stays as it is', () => {
    const change = configChange(2, { reset: true, apps: [tree()] });
    expect(difference(change, stateWith(tree()))).toEqual(change);
  });

  it('single endpoints only when they differ', () => {
    const state = stateWith(tree());
    const revision = revisionRecord({ id: 'r1' });
    const single = (endpointId: string, endpoint: Endpoint | undefined) => ({
      versionId: 'v1',
      revision,
      endpointId,
      endpoint,
    });
    const endpoints = [
      single('x', endpointRecord({ path: '/x', id: 'x', updated_at: 'later' })),
      single('y', undefined),
      single('z', endpointRecord({ path: '/z', id: 'z' })),
    ];
    expect(compiledOf(difference(configChange(2, { endpoints }), state))).toEqual({
      ...NOTHING,
      endpoints: ['y', 'z'],
    });
  });
});

/** A record of which the fields cannot be read. */
function without<R extends object>(record: R, fields: ReadonlySet<unknown>): R {
  return new Proxy(record, {
    get(target, field) {
      if (fields.has(field)) throw new Error(`the field ${String(field)} was read`);
      return Reflect.get(target, field);
    },
  });
}

it('the fields that do not count are not read when a configuration is compiled', () => {
  const apps = [tree({ endpoint: { policy_override: STRICT } })].map(({ app, versions }) => ({
    app: without(app, NOT_COMPILED.app),
    versions: versions.map(({ version, revisions }) => ({
      version: without(version, NOT_COMPILED.version),
      revisions: revisions.map(({ revision, endpoints }) => ({
        revision: without(revision, NOT_COMPILED.revision),
        endpoints: endpoints.map((endpoint) => without(endpoint, NOT_COMPILED.endpoint)),
      })),
    })),
  }));
  const holder = new SnapshotHolder<EffectivePolicy>((effective) => effective);
  holder.apply(configChange(1, { reset: true, apps }));
  expect(holder.current.findVersion('/a/v1')?.revisions[0]?.endpoints.entries).toHaveLength(2);
});

const anyEndpoint = fc.record({
  path: fc.constantFrom('/x', '/y', '/z'),
  policy_override: fc.constantFrom(null, STRICT),
});
const anyVersion = fc.record({
  endpoints: fc.uniqueArray(anyEndpoint, { selector: ({ path }) => path }),
  isCurrent: fc.boolean(),
  status: fc.constantFrom('active' as const, 'deprecated' as const),
});
const anyApp = fc.record({
  description: fc.constantFrom(null, 'text'),
  policy: fc.constantFrom(null, STRICT),
  versions: fc.array(anyVersion, { maxLength: 3 }),
});

function appOf({
  description,
  policy,
  versions,
}: typeof anyApp extends fc.Arbitrary<infer T> ? T : never): AppTree {
  const trees = versions.map(({ endpoints, isCurrent: is_current, status }, index): VersionTree => {
    const revision = revisionRecord({ id: `r${index}`, version_id: `v${index}`, is_current });
    const records = endpoints.map((fields) => endpointRecord({ ...fields, id: `${index} ${fields.path}` }));
    return versionTree(versionRecord({ id: `v${index}`, app_id: 'a', status }), {
      revision,
      endpoints: records,
    });
  });
  return appTree(appRecord({ id: 'a', description, default_policy: policy }), ...trees);
}

/** Everything that requests can notice. */
function served(holder: SnapshotHolder<EffectivePolicy>): unknown {
  const versions = [...holder.versions()].map(({ id, status, revisions }) => ({
    id,
    status,
    routes: revisions.flatMap(({ endpoints, fallback }) =>
      [...endpoints.entries, fallback].map((route) => [route?.template, route?.effective]),
    ),
  }));
  return versions.sort((a, b) => (a.id < b.id ? -1 : 1));
}

it('applying the difference leads to the same configuration as applying the change', () => {
  fc.assert(
    fc.property(anyApp, anyApp, (first, second) => {
      const [before, after] = [appOf(first), appOf(second)];
      const holders = [1, 2].map(() => new SnapshotHolder<EffectivePolicy>((effective) => effective));
      for (const holder of holders) holder.apply(configChange(1, { reset: true, apps: [before] }));
      const change = configChange(2, { apps: [after] });
      holders[0]?.apply(change);
      holders[1]?.apply(difference(change, stateWith(before)));
      expect(holders.map((holder) => served(holder))[1]).toEqual(holders.map((holder) => served(holder))[0]);
    }),
  );
});
