/** A dynamic configuration of Traefik, imported into a running gateway with the command, answers as it describes. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { send, type PlainResponse } from '../../support/policies.ts';

let gateway: TestGateway;
let origins: Origin[];

const routers = `
http:
  routers:
    shop: {rule: "PathPrefix(\`/shop\`)", service: pool, middlewares: [strip, tidy]}
    legacy: {rule: "Path(\`/shop/legacy\`) && Method(\`GET\`)", service: second}
    prefixed: {rule: "PathPrefix(\`/v1\`)", service: first, middlewares: [internal]}
    inside: {rule: "PathPrefix(\`/inside\`)", service: first, middlewares: [lan]}
    limited: {rule: "PathPrefix(\`/limited\`)", service: first, middlewares: [slow]}
    upload: {rule: "PathPrefix(\`/upload\`)", service: first, middlewares: [small]}
    secret: {rule: "PathPrefix(\`/secret\`)", service: first, middlewares: [login]}
  middlewares:
    strip: {stripPrefix: {prefixes: [/shop]}}
    tidy: {headers: {frameDeny: true, customRequestHeaders: {X-From: traefik, X-Debug: ""}}}
    internal: {addPrefix: {prefix: /internal}}
    lan: {ipAllowList: {sourceRange: [10.0.0.0/8]}}
    slow: {rateLimit: {average: 1, period: 1h, burst: 2}}
    small: {buffering: {maxRequestBodyBytes: 4}}
    login: {forwardAuth: {address: "http://auth.test"}}
`;
const services = (ports: readonly number[]): string => `
http:
  services:
    first: {loadBalancer: {servers: [{url: "http://127.0.0.1:${ports[0]}"}]}}
    second: {loadBalancer: {servers: [{url: "http://127.0.0.1:${ports[1]}"}]}}
    pool: {weighted: {services: [{name: first, weight: 3}, {name: second, weight: 1}]}}
`;

beforeAll(async () => {
  [gateway, origins] = await Promise.all([startGateway(), Promise.all([startOrigin(), startOrigin()])]);
  const [one, other] = [join(gateway.folder, 'routers.yaml'), join(gateway.folder, 'services.yaml')];
  writeFileSync(one, routers);
  writeFileSync(other, services(origins.map(({ port }) => port)));
  const env = { HEADGATE_SERVER: gateway.base, HEADGATE_TOKEN: ADMIN_TOKEN };
  const run = await runToEnd(env, ['import', 'traefik', one, other, '--apply']);
  if (run.code !== 0) throw new Error(run.output);
}, 60_000);
afterAll(async () => {
  await gateway.stop();
  for (const origin of origins) await origin.close();
});

const ask = (path: string, method = 'GET', headers = {}, body = ''): Promise<PlainResponse> =>
  send(gateway, path, { method, headers, body });
// oxlint-disable-next-line typescript/no-explicit-any -- looked into freely
const seen = ({ body }: PlainResponse): any => JSON.parse(body);

describe('an imported configuration of Traefik', () => {
  it('sends paths to the backend as the rules and middlewares say', async () => {
    expect(seen(await ask('/shop/a?b=c')).url).toBe('/a?b=c');
    expect(seen(await ask('/shop/legacy')).url).toBe('/shop/legacy');
    expect(seen(await ask('/shop/legacy', 'POST')).url).toBe('/legacy');
    expect(seen(await ask('/v1/x')).url).toBe('/internal/v1/x');
    expect((await ask('/other')).status).toBe(404);
  });

  it('shares traffic by weight, and passes the host', async () => {
    const [first, second] = origins as [Origin, Origin];
    const [a, b] = [first.seen.length, second.seen.length];
    for (let index = 0; index < 20; index++) await ask(`/shop/${index}`, 'GET', { Host: 'shop.test' });
    expect([first.seen.length - a, second.seen.length - b]).toEqual([15, 5]);
    expect(first.seen.at(-1)?.headers.host).toBe('shop.test');
  });

  it('edits header fields', async () => {
    const answer = await ask('/shop/x', 'GET', { 'X-Debug': '1' });
    expect(seen(answer).headers).toMatchObject({ 'x-from': 'traefik' });
    expect(seen(answer).headers['x-debug']).toBeUndefined();
    expect(answer.headers['x-frame-options']).toBe('DENY');
  });

  it('asks addresses, limits requests and bounds bodies', async () => {
    expect((await ask('/inside')).status).toBe(403);
    const statuses = [];
    for (let index = 0; index < 3; index++) statuses.push((await ask('/limited')).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await ask('/upload', 'POST', {}, '1234')).status).toBe(200);
    expect((await ask('/upload', 'POST', {}, '12345')).status).toBe(413);
  });

  it('does not open what it could not protect', async () => {
    expect((await ask('/secret')).status).toBe(503);
  });
});
