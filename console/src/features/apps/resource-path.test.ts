import { expect, it } from 'vitest';
import type { Found } from '../../api/schema.ts';
import { levelOf, pathOfFound } from './resource-path.ts';

const base = { label: '', match: 'part', app_id: null, version_id: null, revision_id: null } as const;

it.each<[Found['kind'], string, object | undefined]>([
  ['app', 'shop', { app: 'shop' }],
  ['version', 'shop / v1', { app: 'shop', version: 'v1' }],
  ['revision', 'shop / v1 / r1', { app: 'shop', version: 'v1', revision: 'r1' }],
  ['endpoint', 'shop / v1 / r1 / GET /a / b', { app: 'shop', version: 'v1', revision: 'r1', endpoint: 'id' }],
  ['api_key', 'shop / mobile', undefined],
  ['admin_token', 'ci', undefined],
])('%s at "%s" has its page', (kind, path, expected) => {
  const found = pathOfFound({ ...base, kind, path, id: 'id' });
  expect(found).toEqual(expected);
  if (found !== undefined) expect(levelOf(found)).toBe(kind);
});
