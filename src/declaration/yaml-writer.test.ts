import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeReferences, resolveReferences } from './references.ts';
import { readDocument, type DeclaredDocument } from './yaml-reader.ts';
import { writeYaml } from './yaml-writer.ts';

function read(text: string): DeclaredDocument {
  const result = readDocument('a.yaml', new TextEncoder().encode(text));
  if (!('locate' in result)) throw new Error(`${JSON.stringify(result)}\n${text}`);
  return result;
}

const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: 'binary', maxLength: 10 }),
  fc.constantFrom(
    'no',
    'On',
    '1e3',
    '0777',
    '1.0',
    'null',
    '~',
    '',
    ' ',
    'a: b',
    'a #b',
    '- a',
    '* /x',
    '2026-01-01',
    'GET /a/{id}',
  ),
  fc.constantFrom(
    '-----BEGIN X-----\nabc\n-----END X-----\n',
    'a\n\nb',
    'a\n',
    '\n',
    ' a\nb',
    'a\r\nb',
    'x'.repeat(3_000),
  ),
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(
      text.filter((name) => name !== '__proto__' && name !== '<<'),
      tie('any'),
      { maxKeys: 4 },
    ),
  ),
})).any;

describe('written YAML', () => {
  it('reads back as the same data, and the same data gives the same bytes', () => {
    fc.assert(
      fc.property(value, (data) => {
        const written = writeYaml(data);
        expect(read(written).value).toEqual(data);
        expect(writeYaml(read(written).value)).toBe(written);
      }),
      { numRuns: 1_000 },
    );
  });

  it('looks as a person would write it', () => {
    expect(
      writeYaml({
        apps: {
          billing: {
            gateway_path: '/billing',
            labels: { team: 'a', build: '0777' },
            versions: {
              '1.0': { revisions: { r1: { endpoints: { 'GET /invoices/{id}': {}, '* /x': {} } } } },
            },
            scopes: ['a:read', 'b'],
            rules: [{ a: 1, b: [true] }, {}],
          },
        },
      }),
    ).toBe(`apps:
  billing:
    gateway_path: /billing
    labels:
      team: a
      build: "0777"
    versions:
      "1.0":
        revisions:
          r1:
            endpoints:
              GET /invoices/{id}: {}
              "* /x": {}
    scopes:
      - "a:read"
      - b
    rules:
      - a: 1
        b:
          - true
      - {}
`);
  });

  // YAML 1.2 section 5.1 allows the first two only as an escape; readers of YAML 1.1 end a line at the others.
  it('has no character that other readers refuse or change', () => {
    expect(writeYaml(['\u009B\u007F', 'a\u0085b\u2028c', '\uFFFE', 'größer'])).toBe(
      ['"\\u009b\\u007f"', '"a\\u0085b\\u2028c"', '"\\ufffe"', '"größer"']
        .map((text) => `- ${text}\n`)
        .join(''),
    );
  });
});

describe('references', () => {
  const sources = {
    env: (name: string) => ({ PORT: '8080', EMPTY: '' })[name],
    file: (path: string) => (path === 'ca.pem' ? { text: 'PEM' } : { problem: 'ENOENT' }),
  };

  it.each([
    ['a: ${env:PORT}', { a: '8080' }, ['/a']],
    ['a: "x-${env:PORT}-${env:PORT}"', { a: 'x-8080-8080' }, []],
    ['a: ["${file:ca.pem}"]', { a: ['PEM'] }, ['/a/0']],
    ['a: ${env:EMPTY}', { a: '' }, ['/a']],
    ['a: $${env:PORT}', { a: '${env:PORT}' }, []],
    ['a: "${claim.sub} ${env.PORT} ${sealed:x}"', { a: '${claim.sub} ${env.PORT} ${sealed:x}' }, []],
  ])('%s', (written, resolved, whole) => {
    const result = resolveReferences(read(written), sources);
    expect(result.value).toEqual(resolved);
    expect([...result.whole]).toEqual(whole);
    expect(result.problems).toEqual([]);
  });

  it('says where one leads nowhere', () => {
    const { problems } = resolveReferences(
      read('a: 1\nb:\n  c: ${env:NONE}\n  d: ${file:none.pem}'),
      sources,
    );
    expect(problems).toMatchObject([
      { line: 3, pointer: '/b/c', detail: 'needs the environment variable NONE, which is not set' },
      { line: 4, pointer: '/b/d', detail: 'needs the file none.pem: ENOENT' },
    ]);
  });

  it('gives a text back that was escaped', () => {
    const parts = fc.constantFrom('$', '${', '${env:A}', '${file:b}', '}', 'x', '$${env:A}');
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 6 }), (chosen) => {
        const original = chosen.join('');
        const document = { file: 'a', value: escapeReferences(original), locate: () => undefined };
        expect(resolveReferences(document, sources).value).toBe(original);
      }),
    );
  });
});
