import { describe, expect, it } from 'vitest';
import { declaredTransaction, declaredWrite, keyLabel, writePathOf } from './declared-place.ts';
import { OPERATIONS, byTemplate } from './operations.ts';

const R1 = { backend_host: 'a.example', is_current: true, endpoints: { 'GET /x': { is_active: true } } };
const R2 = { backend_host: 'b.example' };
const CONFIG = {
  apps: {
    shop: { gateway_path: '/shop', versions: { v1: { revisions: { r1: R1, r2: R2 } } }, keys: { acme: {} } },
  },
};
const revisions = (declared: object): object => ({
  apps: { shop: { versions: { v1: { revisions: declared } } } },
});

function declared(operation: string, names: readonly string[], body?: unknown) {
  const [method = '', template = ''] = operation.split(' ');
  const path = writePathOf(template);
  return path && declaredWrite(CONFIG, { method, path, names, body });
}

const { app, version, revision, endpoint, key } = OPERATIONS;
const VERSION = ['shop', 'v1'];

describe('a write in the declared tree', () => {
  it.each([
    [`PATCH ${revision}`, [...VERSION, 'r2'], { preserve_host: true }, { r2: { preserve_host: true } }],
    [
      `POST ${version}/revisions`,
      VERSION,
      { revision: 'r3', backend_host: 'c.example', copy_endpoints_from: 'r1', description: null },
      { r3: { backend_host: 'c.example', endpoints: { 'GET /x': { is_active: true } } } },
    ],
    [
      `POST ${revision}/endpoints`,
      [...VERSION, 'r2'],
      { method: 'GET', path: '/y', backend_path: '/z' },
      { r2: { endpoints: { 'GET /y': { backend_path: '/z' } } } },
    ],
    [
      `PUT ${version}/traffic`,
      VERSION,
      { r2: 100 },
      { r1: { is_current: false }, r2: { is_current: true, traffic_weight: 100 } },
    ],
    [
      `POST ${revision}/activate`,
      [...VERSION, 'r2'],
      { exclusive: true },
      { r1: { is_current: false }, r2: { is_current: true } },
    ],
    [`POST ${revision}/activate`, [...VERSION, 'r2'], {}, { r2: { is_current: true } }],
    [`POST ${revision}/deactivate`, [...VERSION, 'r1'], undefined, { r1: { is_current: false } }],
  ])('%s', (operation, names, body, shown) => {
    const made = declared(operation, names, body);
    expect(made?.shown).toEqual(revisions(shown));
    // The tree is the one that is read, but for that.
    expect(made?.config).toMatchObject(revisions(shown));
    expect(made?.config).toMatchObject({ apps: { shop: { gateway_path: '/shop', keys: { acme: {} } } } });
  });

  it('leaves out what is deleted, and of an app everything that serves', () => {
    const gone = declared(`DELETE ${revision}`, [...VERSION, 'r1']);
    expect(gone).toMatchObject({ kind: 'absent', shown: revisions({ r1: null }) });
    expect(gone?.config).toEqual({
      apps: { shop: { ...CONFIG.apps.shop, versions: { v1: { revisions: { r2: R2 } } } } },
    });
    expect(declared(`DELETE ${app}`, ['shop'])?.config).toEqual({
      apps: { shop: { gateway_path: '/shop', keys: { acme: {} } } },
    });
    expect(declared(`DELETE ${key}`, ['shop', 'acme'])?.config).toMatchObject({
      apps: { shop: { keys: {} } },
    });
    const without = declared(`DELETE ${endpoint}`, [...VERSION, 'r1', 'GET /x']);
    expect(without?.shown).toEqual(revisions({ r1: { endpoints: { 'GET /x': null } } }));
  });

  it('has no value of a key, and no other name of a record', () => {
    const made = declared(`POST ${app}/tokens`, ['shop'], { name: 'globex', token: 'a-value' });
    expect(made).toMatchObject({ isNewKey: true });
    expect(JSON.stringify(made)).not.toContain('a-value');
    expect(declared(`PATCH ${app}`, ['shop'], { slug: 'store' })).toBeUndefined();
    expect(declared(`PATCH ${key}`, ['shop', 'expired'], { scopes: [] })).toBeUndefined();
    expect(declared(`POST ${key}/rotate`, ['shop', 'acme'], {})).toBeUndefined();
    expect(writePathOf('/webhooks/{webhook_id}')).toBeUndefined();
  });

  it('is the place of a new app, and of one with everything below', () => {
    expect(declared('POST /apps', [], { slug: 'new', name: 'New' })?.shown).toEqual({
      apps: { new: { name: 'New' } },
    });
    const made = declaredTransaction([
      { id: 'app', method: 'POST', path: '/api/v1/apps', body: { slug: 'new', name: 'New' } },
      { id: 'v', method: 'POST', path: '/api/v1/apps/${app.id}/versions', body: { version: 'v1' } },
      {
        method: 'POST',
        path: '/api/v1/apps/${app.id}/versions/${v.id}/revisions',
        body: { revision: 'r1', is_current: true },
      },
      { method: 'POST', path: '/api/v1/apps/${app.id}/tokens', body: { name: 'first key' } },
    ]);
    expect(made?.config).toEqual({
      apps: {
        new: {
          name: 'New',
          versions: { v1: { revisions: { r1: { is_current: true } } } },
          keys: { 'first key': {} },
        },
      },
    });
    expect(declaredTransaction([{ method: 'DELETE', path: '/api/v1/apps/x' }])).toBeUndefined();
  });

  it('names a key by the end of its id where others share its name', () => {
    const own = { apps: { shop: { keys: { 'acme (00000a)': {}, 'acme (00000b)': {} } } } };
    expect(keyLabel(own, 'shop', { name: 'acme', id: '0190-00000b' })).toBe('acme (00000b)');
    expect(keyLabel(CONFIG, 'shop', { name: 'acme', id: '0190-00000b' })).toBe('acme');
  });
});

describe('byTemplate', () => {
  it.each([
    ['PATCH /apps/a%20b', `PATCH ${app}`, { app_id: 'a b' }],
    ['POST /apps/shop/tokens', 'POST /apps/{app_id}/tokens', { app_id: 'shop' }],
    ['POST /transaction', 'POST /transaction', undefined],
    [`PATCH ${app}`, `PATCH ${app}`, undefined],
  ])('%s', (operation, template, path) => {
    const found = byTemplate({ operation, options: {} });
    expect(found).toEqual({ operation: template, options: path === undefined ? {} : { path } });
  });
});
