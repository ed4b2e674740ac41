/**
 * A declarative configuration of Kong, imported into a running gateway with the command, answers as it describes:
 * paths, keys, groups, limits, CORS, addresses, sizes, header fields and weights.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { send, type PlainResponse } from '../../support/policies.ts';

const MOBILE = 'q7Zt4KxW2m9PdR5sVb8NcL3f';
const READER = 'Hn5yT8uWc2RkD7sXe3QaLz9v';
let gateway: TestGateway;
let origins: Origin[];
let report: string;

const document = (ports: readonly number[]): string => `
_format_version: "3.0"
services:
  - name: orders
    url: http://127.0.0.1:${ports[0]}/api
    routes:
      - {name: orders, paths: [/orders], methods: [GET]}
      - name: orders-write
        paths: [/orders]
        methods: [POST]
        plugins:
          - {name: acl, config: {allow: [writers]}}
          - {name: request-size-limiting, config: {allowed_payload_size: 8, size_unit: bytes}}
      - {name: lines, methods: [GET], paths: ['~/orders/(?<id>\\d+)/lines$'], strip_path: false}
    plugins:
      - name: key-auth
        config: {key_names: [X-API-Key], key_in_query: false, hide_credentials: true}
  - name: open
    host: 127.0.0.1
    port: ${ports[1]}
    routes:
      - name: limited
        paths: [/limited]
        plugins: [{name: rate-limiting, config: {day: 2, limit_by: ip}}]
      - name: inside
        paths: [/inside]
        plugins: [{name: ip-restriction, config: {allow: [10.1.2.3/8]}}]
      - name: local
        paths: [/local]
        plugins: [{name: ip-restriction, config: {allow: [127.0.0.0/8]}}]
      - name: headers
        paths: [/headers]
        strip_path: false
        preserve_host: true
        plugins:
          - name: request-transformer
            config:
              add: {headers: ['X-From:kong', 'X-Agent:$(headers.user-agent)']}
              remove: {headers: [X-Debug]}
              rename: {headers: ['X-Old:X-New']}
          - {name: response-transformer, config: {add: {headers: ['X-Out:1']}}}
      - name: protected
        paths: [/protected]
        plugins: [{name: ldap-auth, config: {ldap_host: ldap.test}}]
  - {name: pool, host: pool, routes: [{name: pool, paths: [/pool/]}]}
upstreams:
  - name: pool
    targets:
      - {target: "127.0.0.1:${ports[0]}", weight: 30}
      - {target: "127.0.0.1:${ports[1]}", weight: 10}
consumers:
  - {username: mobile, keyauth_credentials: [{key: ${MOBILE}}], acls: [{group: writers}]}
  - {username: reader, keyauth_credentials: [{key: ${READER}}]}
plugins:
  - {name: cors, config: {origins: ["https://shop.example.com"], methods: [GET, POST]}}
`;

beforeAll(async () => {
  [gateway, origins] = await Promise.all([startGateway(), Promise.all([startOrigin(), startOrigin()])]);
  const file = join(gateway.folder, 'kong.yaml');
  writeFileSync(file, document(origins.map(({ port }) => port)));
  const args = ['import', 'kong', file, '--apply', '--with-key-values'];
  const env = { HEADGATE_SERVER: gateway.base, HEADGATE_TOKEN: ADMIN_TOKEN };
  const run = await runToEnd(env, args);
  report = run.output;
  if (run.code !== 0) throw new Error(report);
}, 60_000);
afterAll(async () => {
  await gateway.stop();
  for (const origin of origins) await origin.close();
});

const ask = (
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
  body?: string,
): Promise<PlainResponse> => send(gateway, path, { method, headers, ...(body !== undefined && { body }) });
// oxlint-disable-next-line typescript/no-explicit-any -- looked into freely
const seen = (response: PlainResponse): any => JSON.parse(response.body);

describe('an imported configuration of Kong', () => {
  it('sends paths to the backend as the routes say', async () => {
    const key = { 'X-API-Key': READER };
    expect(seen(await ask('/orders/7?size=m', key)).url).toBe('/api/7?size=m');
    expect(seen(await ask('/orders', key)).url).toBe('/api/');
    expect(seen(await ask('/orders/7/lines', key)).url).toBe('/api/orders/7/lines');
    expect(seen(await ask('/headers', {})).url).toBe('/headers');
    expect(seen(await ask('/pool/x', {})).url).toBe('/x');
    expect((await ask('/nothing')).status).toBe(404);
    expect((await ask('/orders/7', key, 'DELETE')).status).toBe(404);
  });

  it('knows callers by the keys that they had, and their groups', async () => {
    expect((await ask('/orders')).status).toBe(401);
    expect((await ask('/orders', { 'X-API-Key': 'unknown-0123456789abcdef' })).status).toBe(401);
    expect(seen(await ask('/orders', { 'X-API-Key': MOBILE })).headers['x-api-key']).toBeUndefined();
    expect((await ask('/orders', { 'X-API-Key': READER }, 'POST', 'a')).status).toBe(403);
    expect((await ask('/orders', { 'X-API-Key': MOBILE }, 'POST', 'a')).status).toBe(200);
    expect(report).not.toContain(MOBILE);
  });

  it('bounds bodies', async () => {
    expect((await ask('/orders', { 'X-API-Key': MOBILE }, 'POST', '12345678')).status).toBe(200);
    expect((await ask('/orders', { 'X-API-Key': MOBILE }, 'POST', '123456789')).status).toBe(413);
  });

  it('limits requests', async () => {
    const statuses = [];
    for (let index = 0; index < 4; index++) statuses.push((await ask('/limited')).status);
    // Unless the day turns in between.
    expect(statuses.slice(0, 2)).toEqual([200, 200]);
    expect(statuses).toContain(429);
  });

  it('asks where clients come from', async () => {
    expect((await ask('/inside')).status).toBe(403);
    expect((await ask('/local')).status).toBe(200);
  });

  it('answers preflights', async () => {
    const preflight = { Origin: 'https://shop.example.com', 'Access-Control-Request-Method': 'POST' };
    const answer = await ask('/orders', preflight, 'OPTIONS');
    expect(answer.status).toBe(204);
    expect(answer.headers['access-control-allow-origin']).toBe('https://shop.example.com');
    const other = await ask('/orders', { ...preflight, Origin: 'https://evil.test' }, 'OPTIONS');
    expect(other.headers['access-control-allow-origin']).toBeUndefined();
  });

  it('edits header fields', async () => {
    const answer = await ask('/headers', {
      'X-Debug': '1',
      'X-Old': 'v',
      'User-Agent': 'ua',
      Host: 'shop.test',
    });
    expect(seen(answer).headers).toMatchObject({
      'x-from': 'kong',
      'x-agent': 'ua',
      'x-new': 'v',
      host: 'shop.test',
    });
    expect(seen(answer).headers['x-debug']).toBeUndefined();
    expect(answer.headers['x-out']).toBe('1');
  });

  it('shares traffic by the weights of targets', async () => {
    const [first, second] = origins as [Origin, Origin];
    const [a, b] = [first.seen.length, second.seen.length];
    for (let index = 0; index < 40; index++) expect((await ask(`/pool/${index}`)).status).toBe(200);
    expect([first.seen.length - a, second.seen.length - b]).toEqual([30, 10]);
  });

  it('does not open what it could not protect', async () => {
    expect((await ask('/protected')).status).toBe(503);
    expect(report).toContain(
      'routes[protected]: is not switched on, because ldap-auth could not be carried over',
    );
  });
});
