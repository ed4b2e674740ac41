/**
 * Contract part 1 through the started program: that the limits and time-outs of the traffic listener, its TLS files and
 * the format of the log do what docs/reference/settings.md says. How the engine behaves at each limit is tested in
 * test/integration/engine/; the settings of rate limits, addresses and JWTs in policy/policy-settings.test.ts.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import * as https from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAIN, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, startRawOrigin, type Origin, type RawOrigin } from '../../support/backends/origin.ts';
import { connectRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { createService, problem, request } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const TLS = resolve(import.meta.dirname, '../../support/tls');

describe('limits and time-outs of the traffic path come from the settings', () => {
  let gateway: TestGateway;
  let origin: Origin;
  let silent: RawOrigin;
  let stalling: RawOrigin;
  beforeAll(async () => {
    [gateway, origin, silent, stalling] = await Promise.all([
      startGateway({
        env: {
          GATEWAY_PROXY__MAX_HEAD_BYTES: '2048',
          GATEWAY_PROXY__MAX_HEADERS: '10',
          GATEWAY_PROXY__MAX_TARGET_BYTES: '256',
          GATEWAY_PROXY__MAX_BODY_BYTES: '1000',
          // Far from the defaults, and from what a busy machine keeps a client or a backend waiting.
          GATEWAY_PROXY__HEAD_TIMEOUT_MS: '2000',
          GATEWAY_PROXY__KEEPALIVE_TIMEOUT_MS: '2100',
          GATEWAY_PROXY__CONNECT_TIMEOUT_MS: '1500',
          GATEWAY_PROXY__FIRST_BYTE_TIMEOUT_MS: '2200',
          GATEWAY_PROXY__IDLE_TIMEOUT_MS: '2300',
        },
      }),
      startOrigin(),
      startRawOrigin(() => undefined),
      startRawOrigin((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart')),
    ]);
    await createService(gateway, 'echo', origin.port);
    await createService(gateway, 'silent', silent.port);
    await createService(gateway, 'handshake', silent.port, { revision: { backend_scheme: 'https' } });
    await createService(gateway, 'stalling', stalling.port);
  });
  afterAll(async () => {
    await gateway.stop();
    await Promise.all([origin.close(), silent.close(), stalling.close()]);
  });

  it.each([
    ['MAX_HEAD_BYTES', '/echo/v1/x', { headers: { 'X-Long': 'x'.repeat(2048) } }, 431, 'header_too_large'],
    [
      'MAX_HEADERS',
      '/echo/v1/x',
      { headers: Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`X-${index}`, '1'])) },
      431,
      'header_too_large',
    ],
    ['MAX_TARGET_BYTES', `/echo/v1/${'x'.repeat(256)}`, {}, 414, 'target_too_long'],
    ['MAX_BODY_BYTES', '/echo/v1/x', { method: 'POST', body: 'x'.repeat(1001) }, 413, 'body_too_large'],
    ['FIRST_BYTE_TIMEOUT_MS', '/silent/v1/x', {}, 504, 'upstream_timeout'],
  ] as const)('%s', async (_name, target, parts, status, code) => {
    const response = await request(gateway, target, parts);
    expect(response.status).toBe(status);
    expect(problem(response).code).toBe(code);
  });

  it('what is within all of them passes', async () => {
    const parts = { method: 'POST', body: 'x'.repeat(1000), headers: { 'X-Long': 'x'.repeat(1000) } };
    expect((await request(gateway, `/echo/v1/${'x'.repeat(200)}`, parts)).status).toBe(200);
  });

  it('CONNECT_TIMEOUT_MS, with the TLS handshake', async () => {
    const client = await connectRaw(gateway.proxyPort);
    client.write('GET /handshake/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
    // Less than the default of five seconds.
    const response = await client.response({ timeoutMs: 4_500 });
    expect([response.status, problem(response).code]).toEqual([502, 'upstream_connect_failed']);
    client.end();
  });

  it('HEAD_TIMEOUT_MS', async () => {
    const client = await connectRaw(gateway.proxyPort);
    client.write('GET /echo/v1/x HTTP/1.1\r\nHost: a\r\n');
    expect((await client.response({ timeoutMs: 8_000 })).status).toBe(408);
    client.end();
  });

  it('KEEPALIVE_TIMEOUT_MS', async () => {
    const client = await connectRaw(gateway.proxyPort);
    client.write('GET /echo/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
    expect((await client.response()).status).toBe(200);
    await client.closed(15_000);
    client.end();
  });

  it('IDLE_TIMEOUT_MS', async () => {
    const client = await connectRaw(gateway.proxyPort);
    client.write('GET /stalling/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.closed(15_000);
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 [^]*part$/);
    client.end();
  });
});

it('HALF_CLOSE and MAX_CONNECTIONS_PER_IP come from the settings', { timeout: 60_000 }, async () => {
  const env = {
    GATEWAY_WORKERS: '1',
    GATEWAY_PROXY__HALF_CLOSE: 'true',
    GATEWAY_PROXY__MAX_CONNECTIONS_PER_IP: '1',
  };
  const [gateway, origin] = await Promise.all([startGateway({ env }), startOrigin()]);
  try {
    await createService(gateway, 'half', origin.port);
    const first = await connectRaw(gateway.proxyPort);
    first.write('GET /half/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
    expect((await first.response()).status).toBe(200);
    const second = await connectRaw(gateway.proxyPort);
    expect(problem(await second.response()).code).toBe('overloaded');
    first.socket.end('GET /half/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
    expect((await first.response()).status).toBe(200);
    first.end();
    second.end();
  } finally {
    await gateway.stop();
    await origin.close();
  }
});

describe('overload', { timeout: 60_000 }, () => {
  it('bounds on what is under way come from the settings', async () => {
    const silent = await Promise.all(Array.from({ length: 3 }, () => startRawOrigin(() => undefined)));
    const gateway = await startGateway({
      env: {
        GATEWAY_PROXY__MAX_CONNECTIONS: '5',
        // One more, since of several apps.
        GATEWAY_PROXY__MAX_CONCURRENT_EXCHANGES: '3',
        GATEWAY_PROXY__MAX_UPSTREAM_CONNECTIONS: '1',
        GATEWAY_PROXY__MAX_UPSTREAM_QUEUE: '1',
        GATEWAY_PROXY__UPSTREAM_QUEUE_TIMEOUT_MS: '1500',
      },
    });
    for (const [index, { port }] of silent.entries()) await createService(gateway, `silent${index}`, port);
    const open = async (index: number): Promise<RawClient> => {
      const client = await connectRaw(gateway.proxyPort);
      client.write(`GET /silent${index}/v1/x HTTP/1.1\r\nHost: a\r\n\r\n`);
      return client;
    };
    const detailOf = async (client: RawClient): Promise<string> => {
      const response = await client.response();
      const { status, code, request_id: requestId } = problem(response);
      expect([status, code]).toEqual([503, 'overloaded']);
      // What there is too much of is told to operators only.
      const line = await until(() =>
        gateway.logs().find((each) => each['msg'] === 'access' && each['request_id'] === requestId),
      );
      return String(line['detail']);
    };
    const held = await Promise.all([0, 1].map((index) => open(index)));
    await until(() => silent[1]?.connections() === 1 && silent[0]?.connections() === 1);
    const inLine = await open(0);
    // One of the two finds the queue full, the other one waits until its time-out.
    const late = await open(0);
    expect(await detailOf(late)).toContain('All connections to 127.0.0.1');
    expect(await detailOf(inLine)).toContain('All connections to 127.0.0.1');
    inLine.write('GET /silent2/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(() => silent[2]?.connections() === 1);
    late.write('GET /silent0/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
    const fifth = await open(1);
    expect(await detailOf(fifth)).toContain('max_concurrent_exchanges (3)');
    // One more than there may be takes the place of the one that is between requests.
    const sixth = await open(1);
    expect(await detailOf(sixth)).toContain('max_concurrent_exchanges (3)');
    await fifth.closed();
    // Unanswered requests would hold up the stop.
    for (const { socket } of [...held, inLine, late, fifth, sixth]) socket.destroy();
    await Promise.all(silent.map((each) => each.close()));
    await gateway.stop();
  });
});

describe('GATEWAY_PROXY__TLS__CERT_FILE and KEY_FILE', { timeout: 60_000 }, () => {
  it('make the traffic listener speak TLS', async () => {
    const env = {
      GATEWAY_PROXY__TLS__CERT_FILE: join(TLS, 'backend.pem'),
      GATEWAY_PROXY__TLS__KEY_FILE: join(TLS, 'backend-key.pem'),
    };
    const [gateway, origin] = await Promise.all([startGateway({ env }), startOrigin()]);
    try {
      await createService(gateway, 'secure', origin.port);
      const url = `https://127.0.0.1:${gateway.proxyPort}/secure/v1/x`;
      const options = {
        ca: readFileSync(join(TLS, 'ca.pem')),
        servername: 'localhost',
        agent: false,
      } as const;
      const answer = await new Promise<{ status: number | undefined; body: string }>((done, fail) => {
        https
          .get(url, options, (response) => {
            let body = '';
            response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
            response.on('end', () => done({ status: response.statusCode, body }));
          })
          .on('error', fail);
      });
      expect(answer.status).toBe(200);
      expect(JSON.parse(answer.body).headers['x-forwarded-proto']).toBe('https');
    } finally {
      await gateway.stop();
      await origin.close();
    }
  });
});

describe('GATEWAY_LOG__FORMAT=text', { timeout: 60_000 }, () => {
  it('writes lines for people', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-text-'));
    const child = spawn(process.execPath, [MAIN], {
      env: {
        GATEWAY_DATABASE_URL: `sqlite://${folder}/headgate.db`,
        GATEWAY_SERVER__PORT: '0',
        GATEWAY_PROXY__HOST: '127.0.0.1',
        GATEWAY_PROXY__PORT: '0',
        GATEWAY_ADMIN_TOKEN: 'a-token-for-this-test',
        GATEWAY_WORKERS: '1',
        GATEWAY_LOG__FORMAT: 'text',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(child, 'exit');
    try {
      let text = '';
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      await expect.poll(() => text, { interval: 20 }).toMatch(/headgate is ready.*\n/);
      for (const line of text.trimEnd().split('\n')) expect(line).not.toMatch(/^\{/);
      child.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
    } finally {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
