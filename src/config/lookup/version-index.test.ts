import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VersionIndex } from './version-index.ts';

function indexOf(...gatewayPaths: string[]): VersionIndex<{ gatewayPath: string }> {
  const index = new VersionIndex<{ gatewayPath: string }>();
  for (const gatewayPath of gatewayPaths) index.set({ gatewayPath });
  return index;
}

/** The slow, obvious implementation: looks at all of them. */
function slowFind(gatewayPaths: readonly string[], path: string): string | undefined {
  const fitting = gatewayPaths.filter((each) => path === each || path.startsWith(`${each}/`));
  return fitting.sort((a, b) => b.length - a.length)[0];
}

describe('VersionIndex', () => {
  it.each<[string, string[], string | undefined]>([
    ['/a/v1/x', ['/a/v1', '/a'], '/a/v1'],
    ['/a/v2/x', ['/a/v1', '/a'], '/a'],
    ['/a/v1', ['/a/v1'], '/a/v1'],
    ['/a/v1/', ['/a/v1'], '/a/v1'],
    ['/a/v10', ['/a/v1'], undefined],
    ['/a', ['/a/v1'], undefined],
    ['/', ['/a/v1'], undefined],
    ['/', [''], ''],
    ['/x/y', ['', '/a'], ''],
    ['/a/x', ['', '/a'], '/a'],
    ['/A', ['/a'], undefined],
    ['/a/b/c/d', ['/a', '/a/b/c'], '/a/b/c'],
    ['/a/b/x/d', ['/a', '/a/b/c'], '/a'],
  ])('finds for %s among %j: %s', (path, gatewayPaths, expected) => {
    expect(indexOf(...gatewayPaths).find(path)?.gatewayPath).toBe(expected);
  });

  it('forgets deleted versions and replaces versions that are set again', () => {
    const index = indexOf('/a', '/a/b/c');
    index.delete('/a/b/c');
    index.delete('/not/there');
    expect(index.find('/a/b/c')?.gatewayPath).toBe('/a');
    const other = { gatewayPath: '/a' };
    index.set(other);
    expect(index.at('/a')).toBe(other);
    index.delete('/a');
    expect(index.find('/a')).toBeUndefined();
    expect(index.size).toBe(0);
  });

  it('finds the new form of a version after `renew`', () => {
    const index = indexOf('/a', '/b');
    const other = { gatewayPath: '/a' };
    index.renew(other);
    expect(index.find('/a/x')).toBe(other);
    expect(index.size).toBe(2);
    index.delete('/a');
    expect([index.find('/a/x'), index.find('/b')?.gatewayPath]).toEqual([undefined, '/b']);
  });

  it('agrees with a linear scan on random sets and paths, also after deletions', () => {
    const path = fc
      .array(fc.constantFrom('a', 'b', 'ab', ''), { maxLength: 5 })
      .map((segments) => segments.filter((segment, place) => segment !== '' || place === segments.length - 1))
      .map((segments) => `/${segments.join('/')}`);
    const gatewayPath = path.map((each) => (each.endsWith('/') ? each.slice(0, -1) : each));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(gatewayPath, fc.boolean()), { maxLength: 20 }),
        path,
        (changes, wanted) => {
          const index = indexOf();
          const held = new Set<string>();
          for (const [each, isThere] of changes) {
            if (isThere) {
              index.set({ gatewayPath: each });
              held.add(each);
            } else {
              index.delete(each);
              held.delete(each);
            }
          }
          expect(index.find(wanted)?.gatewayPath).toBe(slowFind([...held], wanted));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('does bounded work for a hostile path', () => {
    const deep = '/a'.repeat(64);
    const index = indexOf('/a', deep);
    expect(index.find(deep)?.gatewayPath).toBe(deep);
    expect(index.find('/a'.repeat(4000))?.gatewayPath).toBe(deep);
    expect(index.find(`/a/${'b'.repeat(8000)}`)?.gatewayPath).toBe('/a');
  });
});
