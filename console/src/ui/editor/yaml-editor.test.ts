import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { schemaTitled, type JsonSchema } from './json-schema.ts';
import { suggestionsAt } from './yaml-completion.ts';
import { placeOf, readYaml } from './yaml-places.ts';

const PUBLISHED = resolve(import.meta.dirname, '../../../../docs/reference/configuration.schema.json');
const configuration = JSON.parse(readFileSync(PUBLISHED, 'utf8')) as JsonSchema;
const policy = schemaTitled(configuration, 'Policy') as JsonSchema;

/** Labels of what is offered where | stands. */
function offered(text: string, schema = policy): string[] {
  const at = text.indexOf('|');
  const found = suggestionsAt(text.slice(0, at) + text.slice(at + 1), at, schema);
  return found?.options.map(({ label }) => label) ?? [];
}

describe('completion', () => {
  it('offers parts, without those that are there', () => {
    expect(offered('|')).toContain('rate_limit');
    expect(offered('rate_limit:\n  requests: 1\n|\n')).not.toContain('rate_limit');
    expect(offered('|\nrate_limit:\n  requests: 1\n')).not.toContain('rate_limit');
  });

  it.each([
    ['rate_limit:\n  req|', 'requests'],
    ['rate_limit:\n  algorithm: |', 'token_bucket'],
    ['rate_limit:\n  enabled: t|', 'true'],
    ['auth:\n  jwt:\n    iss|', 'issuer'],
    ['auth:\n  auth_type: jwt\n  jwt:\n    algorithms:\n      - |', 'EdDSA'],
    ['retries:\n  on: [connect, |', 'timeout'],
    ['shadow:\n- |', 'cors'],
    ['headers:\n  request:\n    remove:\n      - X\n  re|', 'response'],
  ])('%j offers %s', (text, label) => {
    expect(offered(text)).toContain(label);
  });

  it('knows the levels of a whole configuration', () => {
    const text = 'apps:\n  shop:\n    versions:\n      v1:\n        revisions:\n          r1:\n            ';
    expect(offered(`${text}|`, configuration)).toContain('backend_host');
    expect(
      offered(`${text}endpoints:\n              GET /items/{id}:\n                |`, configuration),
    ).toEqual(['backend_path', 'policy_override', 'is_active']);
  });

  it('says nothing where the schema says nothing', () => {
    expect(offered('rate_limit:\n  requests: |')).toEqual([]);
    expect(offered('nonsense:\n  |')).toEqual([]);
  });
});

describe('places', () => {
  const text = 'rate_limit:\n  requests: x\nip_access:\n  deny: [a, b]\n"odd/name": 1\n';
  const at = (pointer: string): string => {
    const { from, to } = placeOf(readYaml(text), pointer);
    return text.slice(from, to);
  };

  it.each([
    ['/rate_limit/requests', 'requests'],
    ['/ip_access/deny/1', 'b'],
    ['/odd~1name', '"odd/name"'],
    ['/rate_limit/missing', 'rate_limit'],
    ['/absent', ''],
  ])('%s is at %j', (pointer, expected) => {
    expect(at(pointer)).toBe(expected);
  });

  it('of what keeps a text from being YAML lie inside of the text', () => {
    for (const broken of ['a: [', 'a: b: c', '\t- x: {', 'a: "', 'x\n y: 1\n  z', '%', 'a: &x 1\nb: *y']) {
      for (const { from, to, message } of readYaml(broken).problems) {
        expect(from).toBeGreaterThanOrEqual(0);
        expect(to).toBeLessThanOrEqual(broken.length);
        expect(to).toBeGreaterThanOrEqual(from);
        expect(message).not.toContain('\n');
      }
    }
    expect(readYaml('a: [').problems).not.toEqual([]);
  });
});
