import { describe, expect, it } from 'vitest';
import { positionText } from './field-lines.ts';
import { mergeDocuments } from './merge-documents.ts';
import { readDocument, type DeclaredDocument } from './yaml-reader.ts';

function read(file: string, yaml: string): DeclaredDocument {
  const result = readDocument(file, new TextEncoder().encode(yaml));
  if (!('locate' in result)) throw new Error(JSON.stringify(result));
  return result;
}

const APP = 'apps:\n  billing:\n    gateway_path: /billing\n    versions:\n      v1: {}\n';

describe('a document of another program', () => {
  it.each([
    [
      '_format_version: "3.0"\nservices: []\n',
      'is a configuration of Kong; "headgate import kong" converts it',
    ],
    ['openapi: 3.1.0\npaths: {}\n', 'is an OpenAPI description; "headgate import openapi" converts it'],
    ['swagger: "2.0"\npaths: {}\n', 'is an OpenAPI description; "headgate import openapi" converts it'],
  ])('%j is one problem, which names the import', (yaml, detail) => {
    const { problems } = mergeDocuments([read('a.yaml', APP), read('b.yaml', yaml)]);
    expect(problems).toEqual([{ file: 'b.yaml', line: 1, column: 1, pointer: '', detail }]);
  });
});

describe('several documents', () => {
  it('make one configuration, each adding to the apps and versions of the others', () => {
    const { value, problems } = mergeDocuments([
      read('a.yaml', APP),
      read(
        'b.yaml',
        'apps:\n  billing:\n    versions:\n      v2:\n        revisions:\n          r1: {backend_host: b}\n',
      ),
      read('c.yaml', 'apps:\n  orders: {gateway_path: /orders}\n  billing:\n    keys:\n      mobile: {}\n'),
      read('d.yaml', ''),
    ]);
    expect(problems).toEqual([]);
    expect(value).toEqual({
      apps: {
        billing: {
          gateway_path: '/billing',
          versions: { v1: {}, v2: { revisions: { r1: { backend_host: 'b' } } } },
          keys: { mobile: {} },
        },
        orders: { gateway_path: '/orders' },
      },
    });
  });

  it.each([
    [
      'a field',
      'apps:\n  billing:\n    gateway_path: /billing\n',
      '/apps/billing/gateway_path',
      'b.yaml:3:5',
      'a.yaml:3:5',
    ],
    ['a key', 'apps: {billing: {keys: {m: {}}}}', undefined, '', ''],
    [
      'a version that is no mapping',
      'apps:\n  billing:\n    versions:\n      v1: 1\n',
      '/apps/billing/versions/v1',
      'b.yaml:4:7',
      'a.yaml:5:7',
    ],
    [
      'a collection that is no mapping',
      'apps:\n  billing:\n    versions: []\n',
      '/apps/billing/versions',
      'b.yaml:3:5',
      'a.yaml:4:5',
    ],
  ])('must not give %s twice', (_what, second, pointer, at, first) => {
    const { problems } = mergeDocuments([read('a.yaml', APP), read('b.yaml', second)]);
    if (pointer === undefined) return expect(problems).toEqual([]);
    expect(problems.map((problem) => [problem.pointer, positionText(problem), problem.detail])).toEqual([
      [pointer, at, `is given twice; the first one is at ${first}`],
    ]);
  });

  it('must not give an endpoint twice, even when both say the same', () => {
    const endpoints = 'apps: {a: {versions: {v: {revisions: {r: {endpoints: {GET /x: {}}}}}}}}';
    const { problems } = mergeDocuments([read('a.yaml', endpoints), read('b.yaml', endpoints)]);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.pointer).toBe('/apps/a/versions/v/revisions/r/endpoints/GET ~1x');
  });

  it('leave the documents as they are', () => {
    const first = read('a.yaml', APP);
    const before = structuredClone(first.value);
    mergeDocuments([first, read('b.yaml', 'apps:\n  billing:\n    versions:\n      v2: {}\n')]);
    expect(first.value).toEqual(before);
  });

  it('give a missing member the place where it would be', () => {
    const merged = mergeDocuments([read('a.yaml', APP), read('b.yaml', 'apps:\n  orders: {}\n')]);
    expect(positionText(merged.locate('/apps/orders/gateway_path'))).toBe('b.yaml:2:3');
    expect(positionText(merged.locate('/owner'))).toBe('a.yaml:1:1');
  });

  it('place each of 20,000 endpoints, and refuse 20,000 that are given twice, in the time that reading takes', () => {
    const names = Array.from({ length: 20_000 }, (_, index) => `GET /x${index}`);
    const lines = names.map((name) => `              ${name}: {}`).join('\n');
    const yaml = `apps:\n  a:\n    versions:\n      v:\n        revisions:\n          r:\n            endpoints:\n${lines}\n`;
    const documents = [read('a.yaml', yaml), read('b.yaml', yaml)];
    // Computing time: others may have the processor meanwhile.
    const began = process.cpuUsage();
    const merged = mergeDocuments(documents);
    expect(merged.problems).toHaveLength(100);
    for (const [index, name] of names.entries()) {
      const at = `/apps/a/versions/v/revisions/r/endpoints/${name.replaceAll('/', '~1')}`;
      expect(merged.locate(at).line).toBe(8 + index);
    }
    // 400 million comparisons of keys take many times as long.
    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 1_000).toBeLessThan(3_000);
  });

  it('must be mappings', () => {
    expect(mergeDocuments([read('a.yaml', '- x')]).problems).toMatchObject([
      { detail: 'must be a mapping with "apps"' },
    ]);
  });
});
