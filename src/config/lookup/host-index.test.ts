import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { HostIndex } from './host-index.ts';

interface Version {
  readonly id: string;
  readonly gatewayPath: string;
  readonly app: { readonly hosts: readonly string[] };
}

/** Each version as `hosts path`. */
function versions(...texts: string[]): Version[] {
  return texts.map((id) => {
    const [hosts = '', gatewayPath = ''] = id.split(' ');
    return { id, gatewayPath, app: { hosts: hosts === '-' ? [] : hosts.split(',') } };
  });
}

function indexOf(...texts: string[]): HostIndex<Version> {
  const index = new HostIndex<Version>();
  for (const version of versions(...texts)) index.set(version);
  return index;
}

const isBelow = (path: string, prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`);

/** The rules as the docs say them, over all versions. */
function slowFind(all: readonly Version[], path: string, authority: string): Version | undefined {
  const host = authority.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '');
  const longest = (some: readonly Version[]): Version | undefined =>
    some
      .filter(({ gatewayPath }) => isBelow(path, gatewayPath))
      .toSorted((a, b) => b.gatewayPath.length - a.gatewayPath.length)[0];
  const labels = host.split('.');
  const names = [host, ...labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)];
  for (const name of names) {
    const found = longest(all.filter(({ app }) => app.hosts.includes(name)));
    if (found !== undefined) return found;
  }
  return longest(all.filter(({ app }) => app.hosts.length === 0));
}

describe('HostIndex', () => {
  it.each<[string, string, string[], string | undefined]>([
    ['a.test', '/x/y', ['a.test /x', '- /x'], 'a.test /x'],
    ['b.test', '/x/y', ['a.test /x', '- /x'], '- /x'],
    ['b.test', '/x/y', ['a.test /x'], undefined],
    ['', '/x/y', ['a.test /x', '- /x'], '- /x'],
    // The host comes before the length of the path.
    ['a.test', '/x/y', ['a.test /x', '- /x/y'], 'a.test /x'],
    ['a.b.test', '/x/y', ['a.b.test /x', '*.b.test /x/y'], 'a.b.test /x'],
    // A host without a version for the path leaves it to the next.
    ['a.test', '/z', ['a.test /x', '*.test /y', '- /z'], '- /z'],
    ['a.test', '/y', ['a.test /x', '*.test /y', '- /y'], '*.test /y'],
    // The longest wildcard, over one label or several, never over none.
    ['a.b.c.test', '/x', ['*.c.test /x', '*.b.c.test /x', '*.test /x'], '*.b.c.test /x'],
    ['a.b.c.test', '/x', ['*.test /x', '*.c.test /x'], '*.c.test /x'],
    ['c.test', '/x', ['*.c.test /x'], undefined],
    ['xc.test', '/x', ['*.c.test /x'], undefined],
    ['.c.test', '/x', ['*.c.test /x'], '*.c.test /x'],
    // As requests write a host.
    ['A.Test', '/x', ['a.test /x'], 'a.test /x'],
    ['a.test:8080', '/x', ['a.test /x'], 'a.test /x'],
    ['a.test.', '/x', ['a.test /x'], 'a.test /x'],
    ['Z.B.Test.:1', '/x', ['*.b.test /x'], '*.b.test /x'],
    ['[::1]:80', '/x', ['*.test /x', '- /x'], '- /x'],
    ['10.0.0.1', '/x', ['*.test /x', '- /x'], '- /x'],
    // Several hosts of one app, and several apps of one host.
    ['b.test', '/x', ['a.test,b.test,*.c.test /x'], 'a.test,b.test,*.c.test /x'],
    ['a.c.test', '/x', ['a.test,b.test,*.c.test /x'], 'a.test,b.test,*.c.test /x'],
    ['a.test', '/y/1', ['a.test /x', 'a.test,b.test /y'], 'a.test,b.test /y'],
  ])('finds for %s%s among %j: %s', (host, path, texts, expected) => {
    expect(indexOf(...texts).find(path, host)?.id).toBe(expected);
  });

  it.each<[string, string[], string | undefined]>([
    ['/x/y', ['a.test /x', '*.b.test /x/y', '- /x/y'], '*.b.test /x/y'],
    ['/x/y', ['a.test /x/y', '*.b.test /x'], 'a.test /x/y'],
    ['/z', ['a.test ', '*.b.test /x'], 'a.test '],
    ['/z', ['a.test /x', '- /z'], undefined],
  ])('finds for %s at any host among %j: %s', (path, texts, expected) => {
    expect(indexOf(...texts).findAtAnyHost(path)?.id).toBe(expected);
  });

  it.each<[string, string, string[], string | undefined]>([
    ['a.test', '/x/items', ['- /x/v1', '- /x/v2', '- /y'], '- /x/v1'],
    ['a.test', '/x/v2/y', ['- /x/v1/y', '- /x/v2/z'], '- /x/v2/z'],
    ['a.test', '/x', ['- /x/v1'], '- /x/v1'],
    ['a.test', '/x/y', ['*.test /x/v1', '- /y'], '*.test /x/v1'],
    ['a.test', '/x/y', ['b.test /x/v1'], undefined],
    ['a.test', '/xx', ['- /x', '- /xxx'], undefined],
    ['a.test', '/gone/y', ['- /gone/v1', '- /gone/v2'], '- /gone/v2'],
  ])('finds for %s%s the nearest of %j: %s', (host, path, texts, expected) => {
    const isMeant = ({ id }: Version): boolean => id !== '- /gone/v1';
    expect(indexOf(...texts).findNear(path, host, isMeant)?.id).toBe(expected);
  });

  it('forgets deleted versions, and serves a renewed one at each of its hosts', () => {
    const [first, second] = versions('a.test,*.b.test /x', '- /x') as [Version, Version];
    const index = new HostIndex<Version>();
    index.set(first);
    index.set(second);
    const renewed = { ...first };
    index.renew(renewed);
    expect(index.find('/x', 'a.test')).toBe(renewed);
    expect(index.find('/x', 'z.b.test')).toBe(renewed);
    index.delete(renewed);
    expect(index.find('/x', 'a.test')).toBe(second);
    expect(index.find('/x', 'z.b.test')).toBe(second);
    index.delete(second);
    expect(index.find('/x', 'a.test')).toBeUndefined();
  });

  it.each<[string, string, boolean]>([
    ['- /x', '- /x', true],
    ['- /x', 'a.test /x', false],
    ['a.test /x', 'a.test /x', true],
    ['a.test,b.test /x', 'b.test,c.test /x', true],
    ['a.test /x', 'b.test /x', false],
    ['*.test /x', 'a.test /x', false],
    ['*.test /x', '*.test /x', true],
    ['*.a.test /x', '*.test /x', false],
    ['a.test /x', 'a.test /y', false],
    ['a.test ', 'a.test ', true],
  ])('%s and %s are for the same requests: %s', (held, other, expected) => {
    const [version] = versions(other) as [Version];
    const index = indexOf(held);
    expect(index.conflicting(version, () => false) !== undefined).toBe(expected);
    expect(index.conflicting(version, () => true)).toBeUndefined();
  });

  it('agrees with a scan of all versions on random sets, hosts and paths, also after deletions', () => {
    const label = fc.constantFrom('a', 'b', 'c');
    const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
    const entry = fc.oneof(
      name,
      name.map((each) => `*.${each}`),
    );
    const hosts = fc.uniqueArray(entry, { maxLength: 3 });
    const path = fc
      .array(fc.constantFrom('p', 'q'), { maxLength: 3 })
      .map((segments) => segments.map((each) => `/${each}`).join(''));
    const step = fc.record({
      hosts,
      gatewayPath: path,
      remove: fc.nat({ max: 20 }),
      isRemoval: fc.boolean(),
    });
    const asked = fc.record({
      host: fc.oneof(name, fc.constant('')),
      suffix: fc.constantFrom('', '.', ':80', '.:80'),
      isUpper: fc.boolean(),
      path: path.map((each) => (each === '' ? '/' : each)),
    });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 30 }),
        fc.array(asked, { maxLength: 10 }),
        (steps, requests) => {
          const index = new HostIndex<Version>();
          const held: Version[] = [];
          for (const [number, each] of steps.entries()) {
            if (each.isRemoval) {
              const [gone] = held.splice(each.remove % Math.max(held.length, 1), 1);
              if (gone !== undefined) index.delete(gone);
              continue;
            }
            const version = { id: String(number), gatewayPath: each.gatewayPath, app: { hosts: each.hosts } };
            const isTaken = held.some(
              (other) =>
                other.gatewayPath === version.gatewayPath &&
                (each.hosts.length + other.app.hosts.length === 0 ||
                  other.app.hosts.some((host) => each.hosts.includes(host))),
            );
            expect(index.conflicting(version, () => false) !== undefined).toBe(isTaken);
            if (isTaken) continue;
            index.set(version);
            held.push(version);
            const [first] = requests;
            if (first !== undefined && first.host !== '')
              expect(index.find(first.path, first.host)?.id).toBe(slowFind(held, first.path, first.host)?.id);
          }
          for (const request of requests) {
            const host = request.host === '' ? '' : request.host + request.suffix;
            const authority = request.isUpper ? host.toUpperCase() : host;
            expect(index.find(request.path, authority)?.id).toBe(slowFind(held, request.path, authority)?.id);
          }
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('does not look at hosts one by one', () => {
    const index = new HostIndex<Version>();
    for (let number = 0; number < 10_000; number++) {
      const hosts = [`tenant-${number}.example.com`, `*.tenant-${number}.example.com`];
      index.set({ id: String(number), gatewayPath: '/x', app: { hosts } });
    }
    const [gets, ...loops] = (['get', 'keys', 'values', 'entries', 'forEach'] as const).map((name) =>
      vi.spyOn(Map.prototype, name),
    );
    const found = ['tenant-5000.example.com', 'a.b.tenant-77.example.com', 'unknown.example.com'].map(
      (host) => index.find('/x', host),
    );
    const asked = gets?.mock.calls.length ?? 0;
    const looped = loops.filter(({ mock }) => mock.calls.length > 0).length;
    vi.restoreAllMocks();
    expect(found.map((version) => version?.id)).toEqual(['5000', '77', undefined]);
    expect(looped).toBe(0);
    expect(asked).toBeGreaterThan(2);
    expect(asked).toBeLessThan(20);
  });
});
