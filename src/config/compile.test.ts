import { describe, expect, it } from 'vitest';
import {
  appRecord,
  endpointRecord,
  revisionRecord,
  versionRecord,
  versionTree,
} from '../../test/support/data/config-records.ts';
import { inOneTurn } from './changes/slices.ts';
import type { VersionTree } from '../model/config.ts';
import type { EffectivePolicy, PolicyValues } from '../model/policy.ts';
import type { App, Endpoint, Revision } from '../model/resources.ts';
import { CompileError } from './compile-error.ts';
import { compileVersion, createAppContext } from './compile.ts';
import { findRoute } from './path-trie.ts';
import type { CompiledRevision, CompiledVersion } from './types.ts';

interface Compiled {
  readonly version: CompiledVersion<EffectivePolicy>;
  /** The policies that the compiler was called with, in order. */
  readonly policies: EffectivePolicy[];
}

const VERSION = versionRecord({ id: 'v1', app_id: 'app' });

function compile(
  tree: VersionTree,
  app: Partial<App> = {},
  previous?: CompiledVersion<EffectivePolicy>,
): Compiled {
  const policies: EffectivePolicy[] = [];
  const context = createAppContext<EffectivePolicy>(appRecord({ id: 'app', ...app }));
  const compilePolicy = (effective: EffectivePolicy): EffectivePolicy => {
    policies.push(effective);
    return effective;
  };
  const marksUnmatched = ({ policy }: EffectivePolicy): boolean => originsOf(policy).length > 0;
  const compiler = Object.assign(compilePolicy, { marksUnmatched });
  const version = inOneTurn(compileVersion(context, tree, compiler, previous));
  return { version, policies };
}

function originsOf(policy: PolicyValues | undefined): readonly string[] {
  return (policy?.['cors'] as { allowed_origins: string[] } | undefined)?.allowed_origins ?? [];
}

function compileOne(
  revision: Partial<Revision>,
  ...endpoints: Endpoint[]
): CompiledRevision<EffectivePolicy> {
  const tree = versionTree(VERSION, { revision: revisionRecord({ id: 'r1', ...revision }), endpoints });
  return compile(tree).version.revisions[0] as CompiledRevision<EffectivePolicy>;
}

function errorOf(work: () => unknown): CompileError {
  try {
    work();
  } catch (error) {
    if (error instanceof CompileError) return error;
    throw error;
  }
  throw new Error('did not throw');
}

describe('compileVersion', () => {
  it('contains what the proxy needs of app and version', () => {
    const record = versionRecord({
      id: 'v1',
      app_id: 'app',
      version: '2026-01',
      gateway_path: '/app/x',
      status: 'deprecated',
      deprecated_at: '2026-01-01T00:00:00.900Z',
      sunset_at: '2027-01-01T00:00:00.000Z',
    });
    const { version } = compile(versionTree(record), {
      slug: 'shop',
      routing_mode: 'managed_endpoint',
      allow_encoded_slashes: true,
    });
    expect(version).toEqual({
      id: 'v1',
      label: '2026-01',
      app: {
        id: 'app',
        slug: 'shop',
        managed: true,
        allowEncodedSlashes: true,
        hosts: [],
        versionPaths: new Map(),
      },
      gatewayPath: '/app/x',
      status: 'deprecated',
      announcesEnd: true,
      successor: undefined,
      deprecatedAtSecs: 1_767_225_600,
      sunsetAtSecs: 1_798_761_600,
      revisions: [],
      unmatched: undefined,
      choice: undefined,
      only: undefined,
      isInUse: false,
    });
  });

  it('represents the gateway path / as the empty string', () => {
    const record = versionRecord({ id: 'v1', app_id: 'app', gateway_path: '/' });
    const { version } = compile(
      versionTree(record, { revision: revisionRecord({ id: 'r1' }), endpoints: [] }),
    );
    expect(version.gatewayPath).toBe('');
    expect(version.revisions[0]?.fallback?.template).toBe('/*');
  });

  it('takes current revisions only, in order of creation', () => {
    const trees = ['r3', 'r1', 'r2'].map((id) => ({
      revision: revisionRecord({ id, is_current: id !== 'r2' }),
      endpoints: [],
    }));
    const { version } = compile(versionTree(VERSION, ...trees));
    expect(version.revisions.map(({ id, index }) => [id, index])).toEqual([
      ['r1', 0],
      ['r3', 1],
    ]);
  });

  it('has a policy for responses without a route where CORS affects them, unless it is retired', () => {
    const cors = (origin: string) => ({ cors: { allowed_origins: [origin] } });
    const revision = revisionRecord({ id: 'r1', default_policy: cors('https://revision.example') });
    const of = (app: Partial<App>, tree: VersionTree) => compile(tree, app).version;
    const managed = {
      routing_mode: 'managed_endpoint',
      default_policy: cors('https://app.example'),
    } as const;
    const originOf = (version: ReturnType<typeof of>) => originsOf(version.unmatched?.policy)[0];
    expect(of({}, versionTree(VERSION)).unmatched).toBeUndefined();
    expect(
      of({ default_policy: { cors: { allowed_origins: [] } } }, versionTree(VERSION)).unmatched,
    ).toBeUndefined();
    expect(originOf(of(managed, versionTree(VERSION)))).toBe('https://app.example');
    expect(originOf(of(managed, versionTree(VERSION, { revision, endpoints: [] })))).toBe(
      'https://revision.example',
    );
    const shared = of(
      { ...managed, routing_mode: 'pass_through' },
      versionTree(VERSION, { revision, endpoints: [] }),
    );
    expect(shared.unmatched).toBe(shared.revisions[0]?.fallback?.policy);
    const retired = versionRecord({ ...VERSION, status: 'retired' });
    expect(of(managed, versionTree(retired, { revision, endpoints: [] })).unmatched).toBeUndefined();
  });

  it('refuses more current revisions than the weighted choice supports', () => {
    const trees = Array.from({ length: 257 }, (_, n) => ({
      revision: revisionRecord({ id: `r${n}` }),
      endpoints: [],
    }));
    expect(errorOf(() => compile(versionTree(VERSION, ...trees)))).toMatchObject({
      resourceId: 'v1',
      field: 'is_current',
    });
  });

  it('refuses a gateway path that no request could match', () => {
    const tree = versionTree(versionRecord({ id: 'v1', app_id: 'app', gateway_path: '/a/' }));
    const error = errorOf(() => compile(tree));
    expect(error.message).toBe('Cannot parse gateway_path "/a/": must not end with "/"');
    expect(error).toMatchObject({ resourceId: 'v1', field: 'gateway_path' });
  });
});

const weightedTree = (...weights: number[]): VersionTree =>
  versionTree(
    VERSION,
    ...weights.map((traffic_weight, n) => ({
      revision: revisionRecord({ id: `r${n}`, traffic_weight }),
      endpoints: [],
    })),
  );

describe('weighted choice', () => {
  it.each<[number[], boolean]>([
    [[], false],
    [[100], false],
    [[100, 0], false],
    [[0, 0], false],
    [[1, 1], true],
  ])('of %j exists: %s', (weights, exists) => {
    expect(compile(weightedTree(...weights)).version.choice !== undefined).toBe(exists);
  });

  it('continues its sequence only while revisions and weights stay the same', () => {
    const before = compile(weightedTree(1, 2)).version;
    expect(compile(weightedTree(1, 2), {}, before).version.choice).toBe(before.choice);
    expect(compile(weightedTree(1, 3), {}, before).version.choice).not.toBe(before.choice);
    expect(compile(weightedTree(1, 2, 3), {}, before).version.choice).not.toBe(before.choice);
    expect(compile(weightedTree(1), {}, before).version.choice).toBeUndefined();
  });
});

const keyOf = (revision: Partial<Revision>): string =>
  compileOne({ backend_scheme: 'https', ...revision }).backend.poolKey;

describe('backend', () => {
  it.each<[Partial<Revision>, Record<string, unknown>]>([
    [
      {},
      {
        scheme: 'http',
        host: 'backend.example',
        port: 8000,
        authority: 'backend.example:8000',
        basePath: '',
      },
    ],
    [{ backend_port: 80 }, { authority: 'backend.example' }],
    [{ backend_scheme: 'https', backend_port: 443 }, { authority: 'backend.example' }],
    [{ backend_scheme: 'https', backend_port: 80 }, { authority: 'backend.example:80' }],
    [{ backend_host: '::1' }, { host: '::1', authority: '[::1]:8000' }],
    [
      { backend_host: '[::1]', backend_port: 80 },
      { host: '::1', authority: '[::1]' },
    ],
    [{ backend_base_path: '/api/v2/' }, { basePath: '/api/v2' }],
  ])('of %j', (revision, expected) => {
    expect(compileOne(revision).backend).toMatchObject(expected);
  });

  it('shares a pool only among backends with the same TLS rules', () => {
    expect(keyOf({})).toBe(keyOf({ backend_host: 'BACKEND.example', backend_base_path: '/x' }));
    const keys = [
      keyOf({}),
      keyOf({ backend_tls: { verify: false } }),
      keyOf({ backend_tls: { server_name: 'a' } }),
      keyOf({ backend_tls: { ca: 'a' } }),
      keyOf({ backend_port: 1 }),
      keyOf({ backend_scheme: 'http' }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('refuses a base path that is not canonical', () => {
    const error = errorOf(() => compileOne({ backend_base_path: '/a/../b' }));
    expect(error).toMatchObject({ resourceId: 'r1', field: 'backend_base_path' });
  });
});

describe('breaker', () => {
  it('fills in defaults and keeps given values', () => {
    expect(compileOne({}).breaker).toEqual({
      failures: 5,
      open_secs: 10,
      count_5xx: false,
      recovery_secs: 10,
    });
    expect(compileOne({ circuit_breaker: { open_secs: 3 } }).breaker).toEqual({
      failures: 5,
      open_secs: 3,
      count_5xx: false,
      recovery_secs: 10,
    });
  });
});

describe('routes', () => {
  it('have parameters, wildcard, backend path and template', () => {
    const revision = compileOne(
      {},
      endpointRecord({ path: '/a/{x}/b/{y}', backend_path: '/{y}/{x}' }),
      endpointRecord({ method: '*', path: '/files/{z}/*', is_active: false }),
    );
    expect(findRoute(revision.endpoints, '/a/1/b/2', 0, 'GET')).toMatchObject({
      endpointId: 'GET /a/{x}/b/{y}',
      active: true,
      method: 'GET',
      template: '/app/v1/a/{x}/b/{y}',
      backendPath: '/{y}/{x}',
      backendParts: ['/', 3, '/', 1, ''],
      isInUse: false,
      report: undefined,
    });
    expect(findRoute(revision.endpoints, '/files/q/', 0, 'PUT')).toMatchObject({
      active: false,
      backendPath: undefined,
      backendParts: undefined,
    });
  });

  it('have a fallback in pass-through mode only', () => {
    const tree = versionTree(VERSION, { revision: revisionRecord({ id: 'r1' }), endpoints: [] });
    expect(compile(tree).version.revisions[0]?.fallback).toMatchObject({
      endpointId: undefined,
      active: true,
      method: '*',
      template: '/app/v1/*',
    });
    expect(
      compile(tree, { routing_mode: 'managed_endpoint' }).version.revisions[0]?.fallback,
    ).toBeUndefined();
  });

  it.each<[Partial<Endpoint> & { path: string }, string, string]>([
    [{ path: 'a' }, 'path', 'Cannot parse path "a": must start with "/"'],
    [
      { path: '/a', backend_path: '/{x}' },
      'backend_path',
      'Cannot parse backend_path "/{x}": "{x}" is not a parameter of the endpoint\'s path',
    ],
  ])('refuse %j', (endpoint, field, message) => {
    const error = errorOf(() => compileOne({}, endpointRecord({ ...endpoint, id: 'e1' })));
    expect(error.message).toBe(message);
    expect(error).toMatchObject({ resourceId: 'e1', field });
  });

  it('must not match the same requests', () => {
    const error = errorOf(() =>
      compileOne({}, endpointRecord({ path: '/a/{x}' }), endpointRecord({ path: '/a/{y}' })),
    );
    expect(error.message).toContain('GET /app/v1/a/{x} and GET /app/v1/a/{y} match the same requests');
    expect(error.resourceId).toBe('GET /a/{y}');
  });
});

const scopes = (...required_scopes: string[]) => ({ required_scopes });

const refuse = (): never => {
  throw new Error('no such key set');
};

describe('policies', () => {
  it('are compiled once per distinct effective policy', () => {
    const plain = Array.from({ length: 50 }, (_, n) => endpointRecord({ path: `/plain/${n}` }));
    const tree = versionTree(
      VERSION,
      { revision: revisionRecord({ id: 'r1' }), endpoints: plain },
      {
        revision: revisionRecord({ id: 'r2', default_policy: {} }),
        endpoints: [endpointRecord({ path: '/own', policy_override: scopes('e') })],
      },
      { revision: revisionRecord({ id: 'r3', default_policy: scopes('r') }), endpoints: plain },
    );
    const { version, policies } = compile(tree, { default_policy: scopes('a') });
    expect(policies.map(({ policy }) => policy.required_scopes)).toEqual([['a'], ['e'], ['r']]);
    const [first, second, third] = version.revisions;
    expect(first?.fallback?.policy).toBe(second?.fallback?.policy);
    expect(findRoute(first?.endpoints as never, '/plain/7', 0, 'GET')).toMatchObject({
      policy: first?.fallback?.policy,
    });
    expect(third?.fallback?.effective.sources.required_scopes).toEqual({ level: 'revision', id: 'r3' });
  });

  it('are not compiled when no route uses them', () => {
    const endpoints = [endpointRecord({ path: '/own', policy_override: scopes('e') })];
    const { policies } = compile(
      versionTree(VERSION, { revision: revisionRecord({ id: 'r1' }), endpoints }),
      { routing_mode: 'managed_endpoint' },
    );
    expect(policies).toHaveLength(1);
  });

  it('report the record and the reason when they do not compile', () => {
    const context = createAppContext<never>(appRecord({ id: 'app', routing_mode: 'managed_endpoint' }));
    const of = (policy_override: Endpoint['policy_override']) =>
      errorOf(() =>
        inOneTurn(
          compileVersion(
            context,
            versionTree(VERSION, {
              revision: revisionRecord({ id: 'r1' }),
              endpoints: [endpointRecord({ path: '/a', policy_override })],
            }),
            refuse,
          ),
        ),
      );
    expect(of(scopes('x'))).toMatchObject({
      message: 'Cannot compile the policy of endpoint GET /a: no such key set',
      resourceId: 'GET /a',
      field: 'policy_override',
    });
    expect(of(null)).toMatchObject({
      message: 'Cannot compile the policy of revision r1: no such key set',
      resourceId: 'r1',
      field: 'default_policy',
    });
  });
});
