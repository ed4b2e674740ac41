import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ALIASED_NODES_MAX,
  DEPTH_MAX,
  DOCUMENT_BYTES_MAX,
  readDocument,
  type Problem,
} from './yaml-reader.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const read = (text: string) => readDocument('a.yaml', bytesOf(text));
const valueOf = (text: string): unknown => {
  const result = read(text);
  if (!('locate' in result)) throw new Error(JSON.stringify(result));
  return result.value;
};
const problemsOf = (text: string): readonly Problem[] => {
  const result = read(text);
  return 'locate' in result ? [] : result;
};

describe('a document', () => {
  it.each<[string, unknown]>([
    ['', null],
    ['a: 1', { a: 1 }],
    ['a: true\nb: null\nc:\nd: ~', { a: true, b: null, c: null, d: null }],
    ['a: "no"\nb: \'on\'', { a: 'no', b: 'on' }],
    ['a: 2026-11-22', { a: '2026-11-22' }],
    [
      '1.0: a\n1.10: b\n0777: c\nno: d\nnull: e',
      { '1.0': 'a', '1.10': 'b', '0777': 'c', no: 'd', null: 'e' },
    ],
    ['"1.0": x', { '1.0': 'x' }],
    ['a: &x {b: 1}\nc: *x', { a: { b: 1 }, c: { b: 1 } }],
    ['{"a": [1, -2, "x", {"b": false}]}', { a: [1, -2, 'x', { b: false }] }],
    ['GET /invoices/{id}: {}', { 'GET /invoices/{id}': {} }],
    ['a: |\n  x\n  y\n', { a: 'x\ny\n' }],
    ['\uFEFFa: 1', { a: 1 }],
  ])('reads %j', (text, value) => {
    expect(valueOf(text)).toEqual(value);
  });

  it.each([
    ['a: 1\na: 2', '2:1', '/a', 'is given twice; the first one is on line 1'],
    ['x:\n  "a": 1\n  a: 2', '3:3', '/x/a', 'is given twice; the first one is on line 2'],
    ['a: no', '1:4', '/a', '"no" is a boolean to some readers of YAML: quote it, or write true or false'],
    ['a: [On]', '1:5', '/a/0', '"On" is a boolean to some readers'],
    ['a: 0777', '1:4', '/a', '0777 is a number that readers of YAML take differently'],
    ['a: 0o17', '1:4', '/a', '0o17 is a number'],
    ['a: 0x1F', '1:4', '/a', '0x1F is a number'],
    ['a: 1e3', '1:4', '/a', '1e3 is a number'],
    ['a: .inf', '1:4', '/a', '.inf is a number'],
    ['a: +1', '1:4', '/a', '+1 is a number'],
    ['a: 9007199254740993', '1:4', '/a', 'is beyond the numbers that are kept exactly'],
    ['<<: {a: 1}', '1:1', '/<<', 'merge keys are not part of YAML 1.2'],
    ['__proto__: 1', '1:1', '/__proto__', 'is refused'],
    ['? [a]\n: 1', '1:3', '', 'has a key that is not text'],
    ['a: *x', '1:4', '/a', 'names an unknown anchor "x"'],
    ['a: !!binary eA==', '1:13', '/a', 'has the tag tag:yaml.org,2002:binary'],
    ['a: !own x', '1:4', '', 'is not valid YAML'],
    ['a: 1\n---\nb: 2', '2:1', '', 'holds several documents'],
    ['a:\n\tb: 1', '2:1', '', 'is not valid YAML'],
    ['a: "x', '1:6', '', 'is not valid YAML'],
    ['%YAML 1.1\n---\na: yes', '1:1', '', 'declares YAML 1.1; expected 1.2'],
  ])('refuses %j at %s', (text, place, pointer, detail) => {
    const [first] = problemsOf(text);
    expect(first).toBeDefined();
    expect(`${first?.line}:${first?.column}`).toBe(place);
    expect(first?.pointer).toBe(pointer);
    expect(first?.detail).toContain(detail);
  });

  it('says once what is wrong at a place, however many levels do not end there', () => {
    const problems = problemsOf('apps:\n  v1: {a: {b: {c: 1\n  keys: 2\n');
    const lines = problems.map(({ line, column, detail }) => `${line}:${column} ${detail}`);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines).toEqual([...new Set(lines)]);
  });

  it('refuses what is not UTF-8, and what is too long', () => {
    expect(readDocument('a', new Uint8Array([0x61, 0xff]))).toMatchObject([{ detail: 'is not UTF-8' }]);
    const long = readDocument('a', new Uint8Array(DOCUMENT_BYTES_MAX + 1));
    expect(long).toMatchObject([
      { detail: expect.stringContaining(`at most ${DOCUMENT_BYTES_MAX}`) as string },
    ]);
  });

  it('refuses what is nested too deep, in blocks and in brackets', () => {
    const deepBlock = Array.from({ length: DEPTH_MAX + 1 }, (_, depth) => `${' '.repeat(depth)}a:`).join(
      '\n',
    );
    expect(problemsOf(deepBlock)[0]?.detail).toContain('nested deeper');
    for (const depth of [DEPTH_MAX + 1, 100_000]) {
      expect(problemsOf('['.repeat(depth) + ']'.repeat(depth))[0]?.detail).toContain('nested deeper');
    }
  });

  it('bounds what aliases stand for, also when they nest', () => {
    const bomb = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 9; level++) {
      bomb.push(`a${level}: &a${level} [${Array.from({ length: 10 }, () => `*a${level - 1}`).join(', ')}]`);
    }
    const startedMs = performance.now();
    expect(problemsOf(bomb.join('\n'))[0]?.detail).toContain(
      `more than ${ALIASED_NODES_MAX} values by aliases`,
    );
    expect(problemsOf('a: &a [*a]')[0]?.detail).toContain('nested deeper');
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  it('says where values are', () => {
    const document = read('a: 1\nb:\n  - x\n  - c/d: &e {f: 2}\ng: *e\n');
    if (!('locate' in document)) throw new Error('not read');
    const at = (pointer: string): string | undefined => {
      const place = document.locate(pointer);
      return place && `${place.line}:${place.column}`;
    };
    expect([at('/a'), at('/b/1'), at('/b/1/c~1d'), at('/b/1/c~1d/f')]).toEqual(['1:1', '4:5', '4:5', '4:14']);
    expect([at('/g'), at('/g/f'), at('/h'), at('/b/7')]).toEqual(['5:1', '4:14', undefined, undefined]);
  });

  it('answers anything without throwing', () => {
    const pieces = fc.constantFrom(
      'a',
      ': ',
      '\n',
      '  ',
      '- ',
      '{',
      '}',
      '[',
      ']',
      '"',
      "'",
      '&a',
      '*a',
      '!',
      '|',
      '>',
      '#',
      '0',
      '?',
      '%',
      '---\n',
      '\t',
      'é',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
        const result = read(parts.join(''));
        expect('locate' in result || result.length > 0).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('finds a duplicate among 50,000 keys in the time that reading them takes', () => {
    const keys = (count: number): string =>
      Array.from({ length: count }, (_, index) => `k${index}: 1\n`).join('');
    const cost = (text: string): number => {
      const startedMs = performance.now();
      read(text);
      return performance.now() - startedMs;
    };
    cost(keys(5_000));
    const [small, large] = [cost(keys(5_000)), cost(keys(50_000))];
    expect(large / small).toBeLessThan(40);
    expect(problemsOf(`${keys(50_000)}k0: 2`)).toMatchObject([{ pointer: '/k0' }]);
  });
});
