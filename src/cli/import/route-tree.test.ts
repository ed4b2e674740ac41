/** The versions of an import, compiled and asked, beside a slow twin that asks routes in their order. */
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
import { SnapshotHolder } from '../../config/holder.ts';
import type { Snapshot } from '../../config/types.ts';
import type { RevisionTree } from '../../model/config.ts';
import { createMatchResult, fullShare, matchRequest } from '../../proxy/match.ts';
import { upstreamPath } from '../../proxy/upstream-path.ts';
import { intersection, isParameter, literalSegments } from './route-patterns.ts';
import type { ImportedRoute, Item } from './imported-route.ts';
import { versionsOf } from './route-tree.ts';
import { openSource, type SourceNode } from './source.ts';

const ANY_PATH = ['a', 'b', '{x}', '{y}'];

function nodes(count: number): { readonly root: SourceNode; readonly all: SourceNode[] } {
  const root = openSource({ routes: Array.from({ length: count }, (_, index) => ({ name: `r${index}` })) });
  return { root, all: root.items('routes') };
}

interface Drawn {
  readonly methods: readonly string[];
  readonly patterns: readonly { readonly segments: readonly string[]; readonly drop: number }[];
  readonly rank: number;
}

function routesOf(drawn: readonly Drawn[]): { readonly routes: ImportedRoute[]; readonly root: SourceNode } {
  const { root, all } = nodes(drawn.length);
  const routes = drawn.map(({ methods, patterns, rank }, index): ImportedRoute => {
    const node = all[index] as SourceNode;
    const unique = patterns.map(({ segments, drop }, order) => ({
      segments: segments.map((segment, at) => (isParameter(segment) ? `{p${at}}` : segment)),
      drop: Math.min(drop, segments.filter((segment) => segment !== '*').length),
      priority: [rank, segments.length, -index, -order],
      node,
    }));
    return {
      label: `r${index}`,
      methods: [...new Set(methods)],
      patterns: unique,
      backends: [{ label: 'x', fields: { backend_host: `b${index}.test` } }],
      revision: {},
      isCurrent: true,
    };
  });
  return { routes, root };
}

function compiled(versions: Record<string, Item>): Snapshot<null> {
  let id = 0;
  const trees = Object.entries(versions).map(([label, version]) => {
    const revisions = Object.entries(version['revisions'] as Record<string, Item>);
    const trees = revisions.map(([revision, fields]): RevisionTree => {
      const { endpoints, ...own } = fields;
      return {
        revision: revisionRecord({ ...own, id: `${label}/${revision}`, revision, version_id: label }),
        endpoints: Object.entries(endpoints as Record<string, Item>).map(([name, item]) => {
          const [method = '', path = ''] = name.split(' ');
          return endpointRecord({ id: `e${id++}`, method, path, ...item } as never);
        }),
      };
    });
    const path = String(version['gateway_path']);
    return versionTree(versionRecord({ id: label, app_id: 'app', gateway_path: path }), ...trees);
  });
  const holder = new SnapshotHolder<null>(() => null);
  const app = appRecord({ id: 'app', routing_mode: 'managed_endpoint' });
  holder.apply(configChange(1, { apps: [appTree(app, ...trees)] }));
  return holder.current;
}

function asked(snapshot: Snapshot<null>, method: string, path: string): string | undefined {
  const out = createMatchResult<null>();
  matchRequest(snapshot, path, false, method, fullShare, out);
  if (out.code !== undefined || out.route === undefined) return undefined;
  return `${out.route.revision.backend.host} ${upstreamPath(out.route, path, out.suffixStart)}`;
}

/** Routes from the highest rank on, and the first that matches. */
function expected(routes: readonly ImportedRoute[], method: string, path: string): string | undefined {
  const segments = path === '/' ? [] : path.slice(1).split('/');
  const matching = routes.flatMap((route) =>
    route.patterns.flatMap((pattern) => {
      const fits = route.methods.some((own) => own === '*' || own === method);
      return fits && matches(pattern.segments, segments) ? [{ route, pattern }] : [];
    }),
  );
  const [first] = matching.sort((a, b) => {
    const [one, other] = [a.pattern.priority, b.pattern.priority];
    const at = one.findIndex((value, index) => value !== other[index]);
    return at < 0 ? 0 : (other[at] ?? 0) - (one[at] ?? 0);
  });
  if (first === undefined) return undefined;
  const host = String(first.route.backends[0]?.fields['backend_host']);
  return `${host} /${segments.slice(first.pattern.drop).join('/')}`;
}

/** A prefix matches itself as well. */
function matches(pattern: readonly string[], path: readonly string[]): boolean {
  for (const [index, segment] of pattern.entries()) {
    if (segment === '*') return true;
    if (path[index] === undefined || (segment !== path[index] && !isParameter(segment))) return false;
  }
  return pattern.length === path.length;
}

const pattern = fc
  .tuple(fc.array(fc.constantFrom(...ANY_PATH), { maxLength: 3 }), fc.boolean(), fc.nat(3))
  .filter(([segments, isPrefix]) => isPrefix || segments.length > 0)
  .map(([segments, isPrefix, drop]) => ({
    segments: isPrefix ? [...segments, '*'] : segments,
    // Other gateways strip literal prefixes, or all of a pattern.
    drop: segments.some(isParameter) ? 0 : drop === 1 ? segments.length : 0,
  }));
const route = fc.record({
  methods: fc.oneof(fc.constant(['*']), fc.uniqueArray(fc.constantFrom('GET', 'POST'), { minLength: 1 })),
  patterns: fc.array(pattern, { minLength: 1, maxLength: 2 }),
  rank: fc.nat(2),
});
const request = fc.tuple(
  fc.constantFrom('GET', 'POST', 'PUT'),
  fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 }).map((segments) => `/${segments.join('/')}`),
);

describe('versions of an import', () => {
  it('answer each request as the routes do in their order', () => {
    fc.assert(
      fc.property(
        fc.array(route, { minLength: 1, maxLength: 6 }),
        fc.array(request, { minLength: 20, maxLength: 40 }),
        (drawn, requests) => {
          const { routes } = routesOf(drawn);
          const snapshot = compiled(versionsOf(routes));
          for (const [method, path] of requests) {
            expect(asked(snapshot, method, path), `${method} ${path}`).toBe(expected(routes, method, path));
          }
        },
      ),
      { numRuns: 700 },
    );
  });

  it('report a route that never gets a request', () => {
    const { routes, root } = routesOf([
      { methods: ['*'], patterns: [{ segments: ['a', '*'], drop: 0 }], rank: 1 },
      { methods: ['GET'], patterns: [{ segments: ['a', 'b'], drop: 0 }], rank: 0 },
    ]);
    const versions = versionsOf(routes);
    expect(Object.keys(versions)).toEqual(['a']);
    const lost = root.ledger.conclude(root).filter(({ kind }) => kind === 'lost');
    expect(lost.map(({ place, reason }) => `${place} ${reason}`)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^routes\[r1\] gets no request here/)]),
    );
  });

  it.each([
    [
      ['a', '*'],
      ['{x}', 'b'],
      ['a', 'b'],
    ],
    [['a', '*'], ['*'], ['a', '*']],
    [['a'], ['b'], undefined],
    [['a', '{x}'], ['a'], undefined],
    [['*'], [''], ['']],
  ])('share the requests of %j and %j', (one, other, both) => {
    expect(intersection(one, other)).toEqual(both);
  });

  it.each([
    ['/a/b', ['a', 'b']],
    ['/', []],
    ['/%61', ['a']],
    ['/a//b', undefined],
    ['/a/../b', undefined],
    ['/{a}', undefined],
    ['a', undefined],
  ])('read the path %s as %j', (path, segments) => {
    expect(literalSegments(path)).toEqual(segments);
  });

  it('take time in line with the number of routes', () => {
    const many = (count: number): number => {
      const { routes } = routesOf(
        Array.from({ length: count }, (_, index) => ({
          methods: ['GET', 'POST'],
          patterns: [{ segments: [`s${index % 50}`, `p${index}`, '*'], drop: 2 }],
          rank: 0,
        })),
      );
      const from = performance.now();
      expect(Object.keys(versionsOf(routes))).toHaveLength(count);
      return performance.now() - from;
    };
    many(500);
    expect(many(5_000)).toBeLessThan(5_000);
  });
});
