/**
 * The started program with a port without TLS beside one with it: what each serves, where requests are redirected, and
 * what browsers are told.
 */
import { readFileSync } from 'node:fs';
import * as https from 'node:https';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explain, stageOf } from '../../support/explain.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { CA, connectHttp2, request as requestHttp2 } from '../../support/clients/http2-client.ts';
import { runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { sendRaw } from '../../support/clients/raw-client.ts';
import { createService, echoed, request } from '../../support/traffic.ts';

const TLS = resolve(import.meta.dirname, '../../support/tls');
const CERTIFICATE = {
  GATEWAY_PROXY__TLS__CERT_FILE: join(TLS, 'backend.pem'),
  GATEWAY_PROXY__TLS__KEY_FILE: join(TLS, 'backend-key.pem'),
};

let origin: Origin;
beforeAll(async () => {
  origin = await startOrigin((request_, response) => {
    if (request_.url === '/own') response.setHeader('Strict-Transport-Security', 'max-age=5');
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ headers: request_.headers }));
  });
});
afterAll(() => origin?.close());

interface TwoPorts {
  readonly gateway: TestGateway;
  readonly tlsPort: number;
}

async function start(env: Readonly<Record<string, string>>): Promise<TwoPorts> {
  const gateway = await startGateway({
    env: { ...CERTIFICATE, GATEWAY_PROXY__TLS__PORT: '0', ...env },
  });
  await createService(gateway, 'shop', origin.port);
  const ready = gateway.logs().find(({ msg }) => msg === 'headgate is ready');
  return { gateway, tlsPort: Number(String(ready?.['proxy_tls']).split(':')[1]) };
}

interface SecureAnswer {
  readonly status: number;
  readonly hsts: string | undefined;
  readonly body: string;
}

function secureGet(port: number, path: string): Promise<SecureAnswer> {
  return new Promise((done, fail) => {
    const options = { port, host: '127.0.0.1', path, ca: CA, servername: 'localhost', agent: false };
    const sent = https.get(options, (response) => {
      let body = '';
      response.setEncoding('latin1').on('data', (chunk: string) => (body += chunk));
      const hsts = response.headers['strict-transport-security'];
      response.on('end', () => done({ status: response.statusCode ?? 0, hsts, body }));
    });
    sent.on('error', fail);
  });
}

describe('a port without TLS beside a port with TLS', () => {
  let at: TwoPorts;
  beforeAll(async () => {
    at = await start({ GATEWAY_WORKERS: '2' });
  });
  afterAll(() => at?.gateway.stop());

  it('serve the same routes, on every worker, and tell backends by which', async () => {
    for (let n = 0; n < 20; n++) {
      const plain = echoed(await request(at.gateway, '/shop/v1/x'));
      expect(plain.headers['x-forwarded-proto']).toBe('http');
      const secure = await secureGet(at.tlsPort, '/shop/v1/x');
      expect(JSON.parse(secure.body).headers['x-forwarded-proto']).toBe('https');
      expect(secure.hsts).toBeUndefined();
    }
  });

  it('explain takes the scheme of a URL for the port: http has no client certificate', async () => {
    await createService(at.gateway, 'partners', origin.port, {
      app: { default_policy: { auth: { auth_type: 'mtls', mtls: { ca: 'partners' } } } },
    });
    const client_certificate = readFileSync(join(TLS, 'backend.pem'), 'utf8');
    const codeOf = async (url: string) =>
      (await explain(at.gateway, { method: 'GET', url, client_certificate })).code;
    const real = await request(at.gateway, '/partners/v1/x');
    expect(JSON.parse(real.body).code).toBe('certificate_missing');
    expect(await codeOf('http://localhost/partners/v1/x')).toBe('certificate_missing');
    expect(await codeOf('https://localhost/partners/v1/x')).toBe('certificate_invalid');
    expect(await codeOf('/partners/v1/x')).toBe('certificate_invalid');
    const plain = await explain(at.gateway, { method: 'GET', url: 'http://localhost/shop/v1/x' });
    expect(stageOf(plain, 'https_redirect').verdict).toBe('not_applicable');
    expect(plain.upstream?.headers).toContainEqual({ name: 'X-Forwarded-Proto', value: 'http' });
  });

  it('HTTP/2 is offered over TLS', async () => {
    const client = await connectHttp2(at.tlsPort);
    expect((await requestHttp2(client, { ':path': '/shop/v1/x' })).status).toBe(200);
    await client.close();
  });

  it('TLS on the plain port is a request that cannot be read', async () => {
    await expect(secureGet(at.gateway.proxyPort, '/shop/v1/x')).rejects.toThrow();
  });

  it.each([
    ['traffic', () => at.gateway.proxyPort],
    ['traffic (TLS)', () => at.tlsPort],
  ])('the %s listener is no backend', async (name, portOf) => {
    const revision = {
      revision: 'loop',
      backend_scheme: 'http',
      backend_host: '127.0.0.1',
      backend_port: portOf(),
    };
    const answer = await at.gateway.api('POST', '/apps/shop/versions/v1/revisions', revision);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toContain(`is the ${name} listener of this gateway`);
  });
});

describe('redirects', () => {
  let at: TwoPorts;
  beforeAll(async () => {
    at = await start({
      GATEWAY_PROXY__HTTPS_REDIRECT_PORT: '443',
      GATEWAY_PROXY__HSTS_SECS: '31536000',
      GATEWAY_TRUSTED_PROXY_IPS: '127.0.0.1',
    });
  });
  afterAll(() => at?.gateway.stop());

  it.each([
    ['GET', '/shop/v1/x?a=1&b=%20', 'shop.test', 'https://shop.test/shop/v1/x?a=1&b=%20'],
    ['POST', '/shop/v1/x', 'shop.test:8080', 'https://shop.test/shop/v1/x'],
    ['GET', 'http://other.test:80/y', 'other.test', 'https://other.test/y'],
    ['GET', '/nothing/here', '[2001:db8::1]:8080', 'https://[2001:db8::1]/nothing/here'],
    ['HEAD', '/shop/v1/../x', 'shop.test', 'https://shop.test/shop/v1/../x'],
  ])('%s %s of %s', async (method, target, host, expected) => {
    const answer = await request(at.gateway, target, { method, headers: { Host: host } });
    expect([answer.status, answer.headers['location']]).toEqual([308, expected]);
    expect(answer.headers['strict-transport-security']).toBeUndefined();
  });

  it('a client without a host cannot be redirected', async () => {
    const answer = await sendRaw(at.gateway.proxyPort, 'GET /shop/v1/x HTTP/1.0\r\n\r\n');
    const problem = JSON.parse(answer.body);
    expect([answer.status, problem.code]).toEqual([400, 'bad_request']);
    const explained = await at.gateway.must('GET', `/explain/${problem.request_id}`);
    expect(stageOf(explained, 'https_redirect')).toMatchObject({ verdict: 'denied', code: 'bad_request' });
    expect(stageOf(explained, 'head').verdict).toBe('passed');
  });

  const REDIRECTED = {
    verdict: 'answered',
    level: 'global',
    value: 443,
    detail:
      'The request did not come over TLS: GATEWAY_PROXY__HTTPS_REDIRECT_PORT redirects it to https, port 443',
  };

  it('explain redirects what is described as sent to the plain port, and nothing else', async () => {
    const described = (url: string, headers = {}) =>
      explain(at.gateway, { method: 'GET', url, headers, client_ip: '127.0.0.1' });
    const plain = await described('http://shop.test/shop/v1/x?a=1');
    expect(plain).toMatchObject({ outcome: 'answered', response: { status: 308 }, upstream: null });
    expect(plain.response.headers).toContainEqual({
      name: 'Location',
      value: 'https://shop.test/shop/v1/x?a=1',
    });
    expect(stageOf(plain, 'https_redirect')).toMatchObject(REDIRECTED);
    expect(stageOf(plain, 'head').verdict).toBe('passed');
    expect(stageOf(plain, 'path').verdict).toBe('skipped');
    for (const url of ['HTTPS://shop.test/shop/v1/x', '/shop/v1/x']) {
      const secure = await described(url);
      expect(secure).toMatchObject({ outcome: 'forwarded' });
      expect(stageOf(secure, 'https_redirect')).toMatchObject({
        verdict: 'passed',
        value: 443,
        detail: 'The request came over TLS',
      });
    }
    const behind = await described('http://shop.test/shop/v1/x', { 'X-Forwarded-Proto': 'https' });
    expect(behind.outcome).toBe('forwarded');
    expect(stageOf(behind, 'https_redirect').detail).toBe('A trusted proxy received the request over TLS');
  });

  it('a recorded redirect is explained as a redirect, and shown to holders of a debug token', async () => {
    await at.gateway.must('PUT', '/explain/sampling', { rate: 1, seconds: 60 });
    const { token } = await at.gateway.must('POST', '/explain/debug-tokens', { seconds: 60 });
    const headers = { Host: 'shop.test', 'X-Headgate-Debug': token };
    const answer = await request(at.gateway, '/shop/v1/x', { headers });
    expect(answer.status).toBe(308);
    expect(answer.headers['x-headgate-decision']).toBe('https_redirect=answered');
    const explained = await at.gateway.must('GET', `/explain/${answer.headers['x-request-id']}`);
    expect(explained).toMatchObject({ outcome: 'answered', code: null, response: { status: 308 } });
    expect(stageOf(explained, 'https_redirect')).toMatchObject(REDIRECTED);
    await at.gateway.must('DELETE', '/explain/sampling');
  });

  it('explain names the last recipient of a TRACE', async () => {
    const explained = await explain(at.gateway, {
      method: 'TRACE',
      url: 'https://shop.test/shop/v1/x',
      headers: { 'Max-Forwards': '0' },
    });
    expect(explained).toMatchObject({ outcome: 'answered', response: { status: 200, body: null } });
    expect(stageOf(explained, 'last_hop').verdict).toBe('answered');
    expect(stageOf(explained, 'forward').verdict).toBe('skipped');
  });

  it('what a trusted proxy received over TLS is served', async () => {
    const send = (proto: string) =>
      request(at.gateway, '/shop/v1/x', { headers: { 'X-Forwarded-Proto': proto } });
    expect((await send('https')).status).toBe(200);
    expect((await send('http')).status).toBe(308);
  });

  it.each([
    [200, 'https, https', undefined],
    [308, 'https,http', undefined],
    [200, 'https,http', '203.0.113.9, 127.0.0.1'],
    // The first member may be the client's own.
    [308, 'https, http', '203.0.113.9'],
    [308, 'https\r\nX-Forwarded-Proto: http', '203.0.113.9'],
  ])('with %i, where trusted proxies say %j of %j', async (status, proto, addresses) => {
    const forwardedFor = addresses === undefined ? '' : `X-Forwarded-For: ${addresses}\r\n`;
    const answer = await sendRaw(
      at.gateway.proxyPort,
      `GET /shop/v1/x HTTP/1.1\r\nHost: shop.test\r\nX-Forwarded-Proto: ${proto}\r\n${forwardedFor}\r\n`,
    );
    expect(answer.status).toBe(status);
  });

  it('browsers get the field over TLS in every answer, and a backend may replace it', async () => {
    for (const [path, status, hsts] of [
      ['/shop/v1/x', 200, 'max-age=31536000'],
      ['/shop/v1/own', 200, 'max-age=5'],
      ['/nothing', 404, 'max-age=31536000'],
    ] as const)
      expect(await secureGet(at.tlsPort, path)).toMatchObject({ status, hsts });
    const client = await connectHttp2(at.tlsPort);
    const { headers } = await requestHttp2(client, { ':path': '/shop/v1/x' });
    expect(headers['strict-transport-security']).toBe('max-age=31536000');
    await client.close();
  });

  it('a test request of the console goes over TLS', async () => {
    const answer = await at.gateway.api('POST', '/try', { method: 'GET', path: '/shop/v1/x' });
    expect(answer.body.data).toMatchObject({ status: 200, url: `https://127.0.0.1:${at.tlsPort}/shop/v1/x` });
  });
});

it('a test request goes through though the gateway takes loopback for a balancer', async () => {
  for (const env of [{}, { GATEWAY_PROXY__TLS__PORT: '0', ...CERTIFICATE }]) {
    const gateway = await startGateway({
      env: { ...env, GATEWAY_PROXY__PROXY_PROTOCOL_FROM: '127.0.0.0/8' },
    });
    await createService(gateway, 'shop', origin.port);
    const answer = await gateway.api('POST', '/try', { method: 'GET', path: '/shop/v1/x' });
    expect(answer.body.data).toMatchObject({ status: 200 });
    await gateway.stop();
  }
});

it('ports that clash, or have no certificate, stop the start in words', async () => {
  const alone = await runToEnd({ GATEWAY_PROXY__TLS__PORT: '8443' });
  expect(alone.output).toContain(
    'expected GATEWAY_PROXY__TLS__CERT_FILE or GATEWAY_ACME__DIRECTORY to be set too',
  );
  const clash = await runToEnd({
    ...CERTIFICATE,
    GATEWAY_PROXY__PORT: '8443',
    GATEWAY_PROXY__TLS__PORT: '8443',
  });
  expect(clash.output).toContain('expected a port other than GATEWAY_PROXY__PORT');
  expect([alone.code, clash.code]).not.toContain(0);
});
