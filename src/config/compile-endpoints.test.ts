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
import type { EndpointChange } from '../model/config.ts';
import type { EffectivePolicy, PolicyValues } from '../model/policy.ts';
import type { Endpoint } from '../model/resources.ts';
import { CompileError } from './compile-error.ts';
import { SnapshotHolder } from './holder.ts';
import { endpointShape } from './path-patterns.ts';
import { findRoute } from './path-trie.ts';

const POLICIES: readonly (PolicyValues | null)[] = [
  null,
  {},
  { required_scopes: ['a'] },
  { allowed_methods: ['GET'], required_scopes: [] },
];
const REVISIONS = [
  revisionRecord({ id: 'r1', version_id: 'v', default_policy: { required_scopes: ['r1'] } }),
  revisionRecord({ id: 'r2', version_id: 'v' }),
  revisionRecord({ id: 'r3', version_id: 'v', is_current: false }),
];
const APP_POLICY = { allowed_methods: ['GET', 'POST'] };
const app = (managed: boolean) =>
  appRecord({
    id: 'a',
    default_policy: APP_POLICY,
    routing_mode: managed ? 'managed_endpoint' : 'pass_through',
  });
const version = versionRecord({ id: 'v', app_id: 'a', gateway_path: '/a/v' });

/** All records as one change. */
function whole(managed: boolean, endpoints: ReadonlyMap<string, Endpoint>, configVersion: number) {
  const trees = REVISIONS.map((revision) => ({
    revision,
    endpoints: [...endpoints.values()].filter(({ revision_id: of }) => of === revision.id),
  }));
  const tree = appTree(app(managed), versionTree(version, ...trees));
  return configChange(configVersion, { reset: true, apps: [tree] });
}
const holder = () => new SnapshotHolder<EffectivePolicy>((effective) => structuredClone(effective));

const path = fc
  .tuple(
    fc.array(fc.constantFrom('a', 'b', 'bb', '{x}'), { maxLength: 3 }),
    fc.constantFrom('', '/', '/*', '/{y}'),
  )
  .map(([segments, end]) => `${segments.map((each) => `/${each}`).join('')}${end}` || '/')
  .filter((text) => (text.match(/\{x\}/g)?.length ?? 0) < 2);
const change = fc.record({
  id: fc.nat({ max: 12 }),
  removes: fc.nat({ max: 3 }).map((number) => number === 0),
  revision: fc.constantFrom(...REVISIONS),
  method: fc.constantFrom('GET', 'POST', '*'),
  path,
  keepsPath: fc.boolean(),
  policy: fc.constantFrom(...POLICIES),
  isActive: fc.boolean(),
  backendPath: fc.constantFrom(null, '/up'),
});
const request = fc
  .array(fc.constantFrom('a', 'b', 'bb', 'c'), { maxLength: 5 })
  .map((segments) => `/a/v${segments.map((each) => `/${each}`).join('')}`);

/** What requests would get, without object identities. */
function answers(of: SnapshotHolder<EffectivePolicy>, paths: readonly string[]): unknown[] {
  return paths.flatMap((asked) =>
    ['GET', 'HEAD', 'POST', 'PUT'].flatMap((method) => {
      const found = of.current.findVersion(asked);
      return found?.revisions.map((revision) => {
        const route = findRoute(revision.endpoints, asked, found.gatewayPath.length, method);
        if (route === undefined) return [revision.id, revision.fallback?.policy];
        const { version: ownVersion, revision: ownRevision, report: _report, ...rest } = route;
        return { ...rest, ids: [ownVersion.id, ownRevision.id], same: ownRevision === revision };
      });
    }),
  );
}

describe('a version whose endpoints change one by one', () => {
  it('behaves as if compiled from all of its records', () => {
    fc.assert(
      fc.property(
        fc.boolean(),
        fc.array(change, { maxLength: 60 }),
        fc.array(request, { minLength: 1, maxLength: 15 }),
        (managed, changes, paths) => {
          const changed = holder();
          const endpoints = new Map<string, Endpoint>();
          changed.apply(whole(managed, endpoints, 1));
          let configVersion = 1;
          for (const each of changes) {
            const next = toChange(each, endpoints);
            if (next === undefined) continue;
            changed.apply(configChange(++configVersion, { endpoints: [next] }));
            if (next.endpoint === undefined) endpoints.delete(next.endpointId);
            else endpoints.set(next.endpointId, next.endpoint);
          }
          const scratch = holder();
          scratch.apply(whole(managed, endpoints, 1));
          expect(answers(changed, paths)).toEqual(answers(scratch, paths));
        },
      ),
      { numRuns: 200 },
    );
  });

  /** Undefined where the API would refuse the change. */
  function toChange(
    each: typeof change extends fc.Arbitrary<infer T> ? T : never,
    endpoints: ReadonlyMap<string, Endpoint>,
  ): EndpointChange | undefined {
    const id = `e${each.id}`;
    const old = endpoints.get(id);
    const revision = REVISIONS.find((one) => one.id === old?.revision_id) ?? each.revision;
    const common = { versionId: 'v', revision, endpointId: id };
    if (each.removes) return { ...common, endpoint: undefined };
    const kept = old !== undefined && each.keepsPath;
    const fields = kept ? { method: old.method, path: old.path } : { method: each.method, path: each.path };
    const taken = [...endpoints.values()].some(
      (other) =>
        other.id !== id &&
        other.revision_id === revision.id &&
        other.method === fields.method &&
        endpointShape(other.path) === endpointShape(fields.path),
    );
    if (taken) return undefined;
    const endpoint = endpointRecord({
      ...fields,
      id,
      revision_id: revision.id,
      policy_override: each.policy,
      is_active: each.isActive,
      backend_path: each.backendPath,
    });
    return { ...common, endpoint };
  }

  it('is rebuilt when most of its entries were removed, and behaves as before', () => {
    const [revision] = REVISIONS;
    if (revision === undefined) throw new Error('no revision');
    const of = holder();
    of.apply(whole(true, new Map(), 1));
    let configVersion = 1;
    const put = (id: string, text: string | undefined): void =>
      of.apply(
        configChange(++configVersion, {
          endpoints: [
            {
              versionId: 'v',
              revision,
              endpointId: id,
              endpoint:
                text === undefined ? undefined : endpointRecord({ id, path: text, revision_id: 'r1' }),
            },
          ],
        }),
      );
    put('kept', '/kept/{id}');
    for (let number = 0; number < 500; number++) {
      put(`e${number}`, `/path${number}/{id}`);
      put(`e${number}`, undefined);
    }
    const [compiled] = of.current.findVersion('/a/v/x')?.revisions ?? [];
    expect(compiled?.endpoints.nodes.length).toBeLessThan(1_500);
    expect(compiled && findRoute(compiled.endpoints, '/kept/7', 0, 'GET')?.endpointId).toBe('kept');
    expect(compiled && findRoute(compiled.endpoints, '/path3/7', 0, 'GET')).toBeUndefined();
  });

  it('shares the policy of the revision among all endpoints without their own', () => {
    const [revision] = REVISIONS;
    if (revision === undefined) throw new Error('no revision');
    let compiled = 0;
    const of = new SnapshotHolder<number>(() => ++compiled);
    of.apply(whole(true, new Map(), 1));
    for (let number = 0; number < 5; number++) {
      const endpoint = endpointRecord({ path: `/${number}`, revision_id: 'r1' });
      const endpoints = [{ versionId: 'v', revision, endpointId: endpoint.id, endpoint }];
      of.apply(configChange(number + 2, { endpoints }));
    }
    expect(compiled).toBe(1);
  });
});

describe('an invalid change of an endpoint', () => {
  const [revision] = REVISIONS;
  const twice = (id: string): EndpointChange => ({
    versionId: 'v',
    revision: revision ?? revisionRecord({ id: 'r1' }),
    endpointId: id,
    endpoint: endpointRecord({ id, path: '/same/{x}', revision_id: 'r1' }),
  });

  it.each<[string, EndpointChange, RegExp]>([
    ['two endpoints for the same requests', twice('other'), /match the same requests/],
    ['an unknown version', { ...twice('e'), versionId: 'gone' }, /version gone is unknown/],
  ])('%s: changes nothing', (_name, bad, message) => {
    const of = holder();
    of.apply(whole(true, new Map(), 1));
    of.apply(configChange(2, { endpoints: [twice('first')] }));
    const before = answers(of, ['/a/v/same/1']);
    const good = {
      ...twice('second'),
      endpoint: endpointRecord({ id: 'second', path: '/x', revision_id: 'r1' }),
    };
    expect(() => of.apply(configChange(3, { endpoints: [good, bad] }))).toThrow(CompileError);
    expect(() => of.apply(configChange(3, { endpoints: [good, bad] }))).toThrow(message);
    expect(answers(of, ['/a/v/same/1', '/a/v/x']).slice(0, before.length)).toEqual(before);
    expect(of.current.configVersion).toBe(2);
  });
});
