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
} from '../../test/support/data/config-records.ts';
import type { EffectivePolicy, PolicyValues } from '../model/policy.ts';
import type { Endpoint } from '../model/resources.ts';
import { SnapshotHolder } from './holder.ts';
import { routeForUse } from './in-use.ts';
import { findRoute } from './path-trie.ts';
import type { CompiledRoute } from './types.ts';

type Route = CompiledRoute<EffectivePolicy>;

const REVISION = revisionRecord({ id: 'r', version_id: 'v' });
const VERSION = versionRecord({ id: 'v', app_id: 'a', gateway_path: '/a/v' });
const APP = appRecord({ id: 'a', routing_mode: 'pass_through' });

function endpoint(id: string, path: string, scope?: string): Endpoint {
  const policy: PolicyValues | null = scope === undefined ? null : { required_scopes: [scope] };
  return endpointRecord({ id, revision_id: 'r', path, policy_override: policy });
}

function holderOf(endpoints: readonly Endpoint[]): SnapshotHolder<EffectivePolicy> {
  const holder = new SnapshotHolder<EffectivePolicy>((effective) => effective);
  const tree = versionTree(VERSION, { revision: REVISION, endpoints: [...endpoints] });
  holder.apply(configChange(1, { apps: [appTree(APP, tree)] }));
  return holder;
}

function change(holder: SnapshotHolder<EffectivePolicy>, endpointId: string, changed?: Endpoint): void {
  const changes = [{ versionId: 'v', revision: REVISION, endpointId, endpoint: changed }];
  holder.apply(configChange(holder.current.configVersion + 1, { endpoints: changes }));
}

/** Finds a route as a request does. */
function use(holder: SnapshotHolder<EffectivePolicy>, path: string): Route {
  const version = holder.current.findVersion(`/a/v${path}`);
  const revision = version?.revisions[0];
  const route = revision && (findRoute(revision.endpoints, `/a/v${path}`, 4, 'GET') ?? revision.fallback);
  if (route === undefined) throw new Error(`no route for ${path}`);
  return routeForUse(route);
}

const scopesOf = ({ policy }: Route): unknown => policy.policy.required_scopes;

describe('versions and routes in use', () => {
  it.each(['/x', '/none'])('are found again as the same, consistent objects: %s', (path) => {
    const holder = holderOf([endpoint('1', '/x', 's'), endpoint('2', '/y')]);
    const [before] = [...holder.versions()];
    const first = use(holder, path);
    expect(use(holder, path)).toBe(first);
    const [version] = [...holder.versions()];
    expect(version).not.toBe(before);
    expect(holder.current.findVersion('/a/v')).toBe(version);
    const [revision] = version?.revisions ?? [];
    for (const route of [first, use(holder, '/y'), ...(revision?.endpoints.entries ?? [])]) {
      expect(route.version).toBe(version);
      expect(route.revision).toBe(revision);
    }
    expect([...(revision?.endpoints.entries ?? []), revision?.fallback]).toContain(first);
  });

  it('share one backend where theirs are equal', () => {
    const holder = new SnapshotHolder<EffectivePolicy>((effective) => effective);
    const trees = ['1', '2', '3'].map((id) => {
      const version = versionRecord({ id: `v${id}`, app_id: 'a', gateway_path: `/a/v${id}` });
      const ports = { '1': 8080, '2': 8080, '3': 8081 } as const;
      const backend_port = ports[id as keyof typeof ports];
      const revision = revisionRecord({ id: `r${id}`, version_id: version.id, backend_port });
      return versionTree(version, { revision, endpoints: [] });
    });
    holder.apply(configChange(1, { apps: [appTree(APP, ...trees)] }));
    const [first, equal, other] = ['1', '2', '3'].map(
      (id) => holder.current.findVersion(`/a/v${id}/x`)?.revisions[0]?.backend,
    );
    expect(first).toBe(equal);
    expect([first?.port, other?.port]).toEqual([8080, 8081]);
  });

  it('stay unchanged for an exchange when the endpoint changes, and the next request gets the change', () => {
    const holder = holderOf([endpoint('1', '/x', 'old'), endpoint('2', '/y', 'old')]);
    const [old, other] = [use(holder, '/x'), use(holder, '/y')];
    change(holder, '1', endpoint('1', '/x', 'new'));
    expect(scopesOf(use(holder, '/x'))).toEqual(['new']);
    expect(scopesOf(old)).toEqual(['old']);
    expect(use(holder, '/y')).toBe(other);
    expect(scopesOf(other)).toEqual(['old']);
    change(holder, '1');
    expect(use(holder, '/x').endpointId).toBeUndefined();
  });

  it('are replaced with their version', () => {
    const holder = holderOf([endpoint('1', '/x', 'old')]);
    const old = use(holder, '/x');
    const tree = versionTree(VERSION, { revision: REVISION, endpoints: [endpoint('1', '/x', 'new')] });
    holder.apply(configChange(2, { versions: [tree] }));
    const route = use(holder, '/x');
    expect([scopesOf(route), scopesOf(old)]).toEqual([['new'], ['old']]);
    expect(route.version).not.toBe(old.version);
    holder.apply(configChange(3, { removedVersionIds: ['v'] }));
    expect(holder.current.findVersion('/a/v')).toBeUndefined();
    expect([...holder.versions()]).toEqual([]);
  });

  it('give the same results whatever was requested and changed before, also with many endpoints', () => {
    const ids = fc.nat({ max: 80 }).map(String);
    const paths = fc.constantFrom('/x', '/x/{p}', '/{p}', '/y/*', '/y/z', '/x/y');
    const steps = fc.array(
      fc.record({ id: ids, path: paths, scope: fc.constantFrom('s', 't', undefined), isGone: fc.boolean() }),
      { maxLength: 20 },
    );
    const asked = ['/x', '/x/y', '/q', '/y/z', '/y/q', '/y/q/r', '/f7'];
    fc.assert(
      fc.property(fc.boolean(), steps, (hasMany, all) => {
        const count = hasMany ? 70 : 3;
        const endpoints = new Map<string, Endpoint>(
          Array.from({ length: count }, (_, n) => [`f${n}`, endpoint(`f${n}`, `/f${n}`)] as const),
        );
        const used = holderOf([...endpoints.values()]);
        for (const { id, path, scope, isGone } of all) {
          for (const each of asked) use(used, each);
          const isTaken = [...endpoints.values()].some((each) => each.path === path && each.id !== id);
          if (isTaken || (isGone && !endpoints.has(id))) continue;
          const next = isGone ? undefined : endpoint(id, path, scope);
          if (next === undefined) endpoints.delete(id);
          else endpoints.set(id, next);
          change(used, id, next);
        }
        const fresh = holderOf([...endpoints.values()]);
        const answer = (holder: SnapshotHolder<EffectivePolicy>, path: string) => {
          const { endpointId, template, policy, active } = use(holder, path);
          return { endpointId, template, policy, active };
        };
        for (const each of asked) expect(answer(used, each)).toEqual(answer(fresh, each));
      }),
    );
  });
});
