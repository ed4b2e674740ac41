import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalHost, entryFor, parseHostEntry, reversedLabels } from './host-name.ts';
import { isHostAndPort } from './host.ts';

describe('canonicalHost', () => {
  it.each([
    ['a.example.com', 'a.example.com'],
    ['A.Example.COM', 'a.example.com'],
    ['a.example.com:8080', 'a.example.com'],
    ['a.example.com.', 'a.example.com'],
    ['A.example.com.:443', 'a.example.com'],
    ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
    ['localhost', 'localhost'],
    ['10.0.0.1:80', '10.0.0.1'],
    ['[::1]:8080', '[::1]:8080'],
    ['[::ffff:10.0.0.1]', '[::ffff:10.0.0.1]'],
    ['', ''],
  ])('%s → %s', (authority, host) => {
    expect(canonicalHost(authority)).toBe(host);
  });
});

describe('parseHostEntry', () => {
  it.each([
    ['api.example.com', 'api.example.com'],
    ['API.Example.com.', 'api.example.com'],
    ['*.Example.com', '*.example.com'],
    ['*.com', '*.com'],
    ['localhost', 'localhost'],
    ['my_app.internal', 'my_app.internal'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example', 'xn--bcher-kva.example'],
    ['*.bücher。example', '*.xn--bcher-kva.example'],
    ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
    ['faß.de', 'xn--fa-hia.de'],
    ['日本.jp', 'xn--wgv71a.jp'],
    ['a--b.example', 'a--b.example'],
    [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
    ['1.2.3.example', '1.2.3.example'],
    ['*._tenants.example', '*._tenants.example'],
  ])('%s is stored as %s', (text, entry) => {
    expect(parseHostEntry(text)).toEqual({ entry });
    expect(parseHostEntry(entry)).toEqual({ entry });
  });

  it.each([
    ['', 'must be a name'],
    ['*', 'as its whole first label'],
    ['*.', 'must be a name'],
    ['**.example.com', 'as its whole first label'],
    ['a*.example.com', 'as its whole first label'],
    ['a.*.example.com', 'as its whole first label'],
    ['*.*.example.com', 'as its whole first label'],
    ['example.com:8080', 'must not have a port'],
    ['*.example.com:*', 'as its whole first label'],
    ['https://example.com', 'without a scheme'],
    ['user@example.com', 'must not have user information'],
    ['example.com/path', '`gateway_path`'],
    ['a.example.com, b.example.com', 'may contain'],
    ['a example', 'may contain'],
    ['a%2eexample', 'may contain'],
    ['a\u0000b', 'may contain'],
    ['.', 'must not have an empty label'],
    ['.example.com', 'must not have an empty label'],
    ['a..example.com', 'must not have an empty label'],
    ['example.com..', 'must not have an empty label'],
    ['10.0.0.1', 'not an address'],
    ['1.2', 'not an address'],
    ['0x7f.1', 'not an address'],
    ['a.0x10', 'not an address'],
    ['１２７.0.0.1', 'not an address'],
    ['[::1]', 'not an address'],
    ['::1', 'not an address'],
    ['-a.example.com', 'must not begin or end with "-"'],
    ['a-.example.com', 'must not begin or end with "-"'],
    ['xn--.example', 'IDNA'],
    ['xn--abc.example', 'IDNA'],
    ['xn--bcher-kva.xn--abc', 'IDNA'],
    ['xn--ü.example', 'IDNA'],
    ['a\u200fb.example', 'IDNA'],
    ['a\u1fef.example', 'IDNA'],
    [`${'a'.repeat(64)}.example`, 'at most 63'],
    [`${'a.'.repeat(127)}example`, 'at most 253'],
  ])('%j is refused: %s', (text, error) => {
    expect(parseHostEntry(text)).toEqual({ error: expect.stringContaining(error) as string });
  });

  it('accepts only hosts that a request can ask for, in a single form', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary', maxLength: 40 }),
          fc
            .array(fc.constantFrom('a', 'B', '-', '.', '*', 'ü', '。', 'xn--', '1', '_', ':', '%'))
            .map((all) => all.join('')),
        ),
        (text) => {
          const parsed = parseHostEntry(text);
          if ('error' in parsed) return;
          const name = parsed.entry.replace(/^\*\./, '');
          expect(isHostAndPort(name)).toBe(true);
          expect(canonicalHost(name)).toBe(name);
          expect(canonicalHost(`${name.toUpperCase()}.:8080`)).toBe(name);
          expect(parseHostEntry(parsed.entry)).toEqual(parsed);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe('entryFor', () => {
  const entries = ['*.com', '*.example.com', 'a.example.com', 'example.org'];

  it.each([
    ['a.example.com', 'a.example.com'],
    ['b.example.com', '*.example.com'],
    ['x.y.example.com', '*.example.com'],
    ['x.a.example.com', '*.example.com'],
    ['example.com', '*.com'],
    ['badexample.com', '*.com'],
    ['com', undefined],
    ['example.org', 'example.org'],
    ['a.example.org', undefined],
    ['', undefined],
  ])('%s → %s', (host, entry) => {
    expect(entryFor(entries, host)).toBe(entry);
    expect(entryFor(entries.toReversed(), host)).toBe(entry);
  });
});

describe('reversedLabels', () => {
  it('puts a wildcard below its name, and is its own inverse', () => {
    expect(reversedLabels('*.example.com')).toBe('com.example.*');
    expect(reversedLabels('com.example.*')).toBe('*.example.com');
    expect(reversedLabels('localhost')).toBe('localhost');
  });
});
