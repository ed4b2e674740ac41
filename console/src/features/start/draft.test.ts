import { describe, expect, it } from 'vitest';
import { ApiError } from '../../api/api-error.ts';
import { startWords } from '../../text/start.ts';
import {
  EMPTY_DRAFT,
  madeKey,
  parseBackend,
  problemsFrom,
  problemsOf,
  proposedSlug,
  servedPath,
  transactionOf,
  type Draft,
} from './draft.ts';
import { curlText, meaningOf, readableBody } from './meaning.ts';

const GOOD: Draft = { ...EMPTY_DRAFT, name: 'Orders', backend: 'http://127.0.0.1:3000' };

describe('proposedSlug', () => {
  it.each([
    ['Orders', 'orders'],
    ['  Größe & Co. ', 'grosse-co'],
    ['Crème brûlée', 'creme-brulee'],
    ['注文', ''],
    ['-- x --', 'x'],
    [`${'a'.repeat(62)} b`, 'a'.repeat(62)],
  ])('%j becomes %j', (name, slug) => expect(proposedSlug(name)).toBe(slug));
});

describe('parseBackend', () => {
  it.each([
    ['http://127.0.0.1:3000', ['http', '127.0.0.1', 3000, undefined]],
    ['https://api.example.com', ['https', 'api.example.com', 443, undefined]],
    ['http://api.example.com/', ['http', 'api.example.com', 80, undefined]],
    ['HTTP://Api.Example.com:80/v2/', ['http', 'api.example.com', 80, '/v2']],
    ['localhost:3000', ['http', 'localhost', 3000, undefined]],
    ['http://[::1]:3000/a/b', ['http', '::1', 3000, '/a/b']],
    [' http://x:1 ', ['http', 'x', 1, undefined]],
    ['unix:/run/orders.sock', ['http', 'unix:/run/orders.sock', undefined, undefined]],
    ['https://unix:/run/orders.sock', ['https', 'unix:/run/orders.sock', undefined, undefined]],
    ['http://unix/a', ['http', 'unix', 80, '/a']],
  ])('%j', (text, [scheme, host, port, base]) => {
    expect(parseBackend(text)).toEqual({
      backend_scheme: scheme,
      backend_host: host,
      ...(port !== undefined && { backend_port: port }),
      ...(base !== undefined && { backend_base_path: base }),
    });
  });

  const { problems } = startWords;
  it.each([
    ['', problems.noUrl],
    ['ftp://x', problems.scheme('ftp')],
    ['javascript://x', problems.scheme('javascript')],
    ['http://', problems.notUrl('http://')],
    ['http://a b', problems.notUrl('http://a b')],
    ['http:\\\\x', problems.notUrl('http:\\\\x')],
    ['http://x:0', problems.port],
    ['http://x:70000', problems.port],
    ['http://x:', problems.port],
    ['http://x:80a/', problems.port],
    ['http://user:secret@x:1', problems.credentials],
    ['http://x?a=1', problems.query],
    ['http://x/#', problems.query],
  ])('%j is refused with a reason', (text, problem) => expect(parseBackend(text)).toEqual({ problem }));
});

describe('problemsOf', () => {
  it('finds none in four good fields', () => expect(problemsOf(GOOD)).toEqual({}));

  it.each([
    [{ name: ' ' }, ['name']],
    [{ name: '注文' }, ['slug']],
    [{ slug: 'A b' }, ['slug']],
    [{ path: 'orders' }, ['path']],
    [{ path: '/orders/' }, ['path']],
    [{ backend: 'x y' }, ['backend']],
    [{ limit: '0' }, ['limit']],
    [{ limit: '1.5' }, ['limit']],
    [{ limit: 'many' }, ['limit']],
  ])('%j', (part, fields) => {
    expect(Object.keys(problemsOf({ ...GOOD, ...part }))).toEqual(fields);
  });
});

describe('transactionOf', () => {
  it('makes a key and a limit for each key', () => {
    const { operations } = transactionOf({ ...GOOD, limit: '60' });
    expect(operations.map(({ id }) => id)).toEqual(['app', 'version', 'revision', 'key']);
    expect(operations[0]?.body).toMatchObject({
      slug: 'orders',
      gateway_path: '/orders',
      default_policy: {
        auth: { auth_type: 'api_key' },
        rate_limit: { enabled: true, requests: 60, window_seconds: 60, per: 'api_key' },
      },
    });
  });

  it('makes a current revision of the first version, with the backend', () => {
    const { operations } = transactionOf({ ...GOOD, backend: 'https://orders.internal:8443/base' });
    const [, version, revision] = operations;
    expect(version).toMatchObject({ path: '/api/v1/apps/${app.id}/versions', body: { version: 'v1' } });
    expect(revision).toMatchObject({
      path: '/api/v1/apps/${app.id}/versions/${version.id}/revisions',
      body: {
        backend_scheme: 'https',
        backend_host: 'orders.internal',
        backend_port: 8443,
        backend_base_path: '/base',
        is_current: true,
      },
    });
  });

  it('makes no key where everyone may call, and no limit where none is given', () => {
    const { operations } = transactionOf({ ...GOOD, callers: 'none' });
    expect(operations.map(({ id }) => id)).toEqual(['app', 'version', 'revision']);
    expect(operations[0]?.body).toMatchObject({ default_policy: { auth: { auth_type: 'none' } } });
    expect(JSON.stringify(operations)).not.toContain('rate_limit');
  });

  it('says where clients call it', () => expect(servedPath(GOOD)).toBe('/orders/v1/'));
});

describe('problemsFrom', () => {
  const failed = (...fields: { pointer: string; detail: string }[]): ApiError =>
    new ApiError(409, { errors: fields });

  it('puts messages at their fields', () => {
    const error = failed(
      { pointer: '/operations/0/body/slug', detail: 'is taken' },
      { pointer: '/operations/2/body/backend_host', detail: '"x" is no host' },
    );
    expect(problemsFrom(error)).toEqual({ slug: 'Is taken', backend: '"x" is no host' });
  });

  it('leaves problems without a field to the page', () => {
    expect(problemsFrom(failed({ pointer: '/operations/3/body', detail: 'x' }))).toBeUndefined();
    expect(problemsFrom(failed())).toBeUndefined();
    expect(problemsFrom(new Error('x'))).toBeUndefined();
  });
});

describe('madeKey', () => {
  it('is the value in the answer', () => {
    expect(madeKey([{ id: 'key', body: { data: { token: 'hgk_x' } } }])).toBe('hgk_x');
    expect(madeKey([{ id: 'app', body: null }])).toBe('');
  });
});

describe('meaningOf', () => {
  const denial = (code: string) => ({ code, stage: null, detail: null, fix: null });
  it.each([
    [200, null, true, 'works'],
    [404, null, false, 'backend refuses'],
    [401, null, true, 'backend refuses'],
    [401, denial('unauthenticated'), true, 'refused as meant'],
    [401, denial('unauthenticated'), false, 'refused'],
    [429, denial('rate_limited'), true, 'refused'],
    [502, denial('upstream_connect_failed'), false, 'backend away'],
    [503, denial('circuit_open'), false, 'backend away'],
    [503, denial('no_targets'), false, 'backend away'],
    [null, null, false, 'no answer'],
  ] as const)('%j with %j', (status, why, lacksKey, meaning) => {
    expect(meaningOf({ status, denial: why }, lacksKey)).toBe(meaning);
  });
});

describe('curlText', () => {
  it('goes to the host of the page, with the key that was sent', () => {
    expect(curlText("http://127.0.0.1:8080/o'x/", 'hgk_x', 'gateway.example')).toBe(
      `curl -i 'http://gateway.example:8080/o'\\''x/' \\\n  -H 'Authorization: Bearer hgk_x'`,
    );
    expect(curlText('http://127.0.0.1:8080/[1-9999]', '', 'a.test')).toBe(
      `curl -i -g 'http://a.test:8080/[1-9999]'`,
    );
    expect(curlText('https://[::1]:8443/', '', '[::1]')).toBe(`curl -i 'https://[::1]:8443/'`);
  });
});

describe('readableBody', () => {
  it.each([
    ['{"a":1}', '{\n  "a": 1\n}'],
    ['{"a":', '{"a":'],
    ['hello', 'hello'],
    ['1', '1'],
  ])('%j', (text, shown) => expect(readableBody(text)).toBe(shown));
});
