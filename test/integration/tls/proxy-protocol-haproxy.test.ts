/**
 * Behind a real HAProxy that begins each connection with a header of the PROXY protocol, version 2, with all the
 * extensions that it can send: to the port, to the port with TLS and to the Unix socket, and with its health checks.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePorts } from '../../support/backends/origin-process.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { CA } from '../../support/clients/http2-client.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { metric } from '../../support/policies.ts';
import { installedProgram } from '../../support/programs/install-program.ts';
import { createService, request } from '../../support/traffic.ts';

const BALANCER = '127.0.0.2';
const TLS = resolve(import.meta.dirname, '../../support/tls');
const SENT = 'send-proxy-v2 proxy-v2-options ssl,cert-cn,ssl-cipher,authority,crc32c,unique-id';
const WAYS = ['port', 'tls', 'unix'] as const;
type Way = (typeof WAYS)[number];

let origin: Origin;
let gateway: TestGateway;
let balancer: ChildProcess;
let doors: Readonly<Record<Way, number>>;
let statsPort = 0;
const folder = mkdtempSync(join(tmpdir(), 'headgate-haproxy-'));

beforeAll(async () => {
  origin = await startOrigin();
  const unix = join(folder, 'traffic.sock');
  gateway = await startGateway({
    folder,
    env: {
      GATEWAY_PROXY__PROXY_PROTOCOL_FROM: `${BALANCER}, unix`,
      GATEWAY_PROXY__UNIX_SOCKET: unix,
      GATEWAY_PROXY__TLS__PORT: '0',
      GATEWAY_PROXY__TLS__CERT_FILE: resolve(TLS, 'backend.pem'),
      GATEWAY_PROXY__TLS__KEY_FILE: resolve(TLS, 'backend-key.pem'),
    },
  });
  const ready = gateway.logs().find(({ msg }) => msg === 'headgate is ready');
  const tlsPort = String(ready?.['proxy_tls']).split(':')[1];
  await createService(gateway, 'shop', origin.port);
  const [port = 0, tls = 0, unixDoor = 0, stats = 0] = await freePorts(4);
  doors = { port, tls, unix: unixDoor };
  statsPort = stats;
  // A check that is slow on a busy machine takes no server away.
  writeFileSync(
    join(folder, 'haproxy.cfg'),
    `defaults
  mode http
  timeout connect 5s
  timeout client 10s
  timeout server 10s
  timeout check 5s
  unique-id-format %{+X}o\\ %ci:%cp_%fi:%fp_%Ts_%rt:%pid
  default-server check inter 200ms fall 1000 ${SENT}
frontend stats
  bind 127.0.0.1:${stats}
  stats enable
  stats uri /
listen port
  bind 127.0.0.1:${port}
  option httpchk GET /shop/v1/check
  server gateway 127.0.0.1:${gateway.proxyPort} source ${BALANCER}
listen unix
  bind 127.0.0.1:${unixDoor}
  option httpchk GET /shop/v1/check
  server gateway unix@${unix}
listen tls
  mode tcp
  bind 127.0.0.1:${tls}
  server gateway 127.0.0.1:${tlsPort} source ${BALANCER} check-ssl verify none
`,
  );
  const program = installedProgram('haproxy', 'haproxy');
  balancer = spawn(program, ['-db', '-f', join(folder, 'haproxy.cfg')], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: dirname(program) },
  });
});
afterAll(async () => {
  if (balancer.kill()) await once(balancer, 'exit');
  await gateway?.stop();
  await origin?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** What the backend saw of a request that a client with this loopback address sent to the balancer. */
function through(way: Way, from: string, body = ''): Promise<Readonly<Record<string, string>>> {
  const options = {
    host: '127.0.0.1',
    port: doors[way],
    localAddress: from,
    path: '/shop/v1/x',
    method: body === '' ? 'GET' : 'POST',
    agent: false,
  };
  return new Promise((done, fail) => {
    const onResponse = (response: http.IncomingMessage): void => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', fail).on('end', () => {
        if (response.statusCode !== 200) return fail(new Error(`${way} answered ${response.statusCode}`));
        const seen = JSON.parse(text) as { headers: Record<string, string>; body: string };
        if (seen.body === body) done(seen.headers);
        else fail(new Error(`The body arrived with ${seen.body.length} of ${body.length} bytes`));
      });
    };
    const sent =
      way === 'tls'
        ? https.request({ ...options, ca: CA, servername: 'localhost' }, onResponse)
        : http.request(options, onResponse);
    sent.on('error', fail).end(body);
  });
}

/** Of the checks that the balancer makes, by name of its section. */
async function checks(): Promise<Record<string, string>> {
  const answer = await fetch(`http://127.0.0.1:${statsPort}/;csv`).catch(() => undefined);
  const [head = '', ...rows] = ((await answer?.text()) ?? '').replace(/^# /, '').split('\n');
  const names = head.split(',');
  const at = (row: string, name: string): string => row.split(',')[names.indexOf(name)] ?? '';
  const servers = rows.filter((row) => at(row, 'svname') === 'gateway');
  return Object.fromEntries(servers.map((row) => [at(row, 'pxname'), at(row, 'check_status')]));
}

it('its own checks pass, which name no client', async () => {
  const passed = await until(async () => {
    const found = await checks();
    return WAYS.every((way) => /^L[67]OK$/.test(found[way] ?? '')) && found;
  });
  expect(passed).toEqual({ port: 'L7OK', unix: 'L7OK', tls: 'L6OK' });
});

it.each(WAYS)('the client of a connection through the %s is what it says', async (way) => {
  const body = 'x'.repeat(300_000);
  for (const [from, sent] of [
    ['127.0.0.31', ''],
    ['127.0.0.32', body],
  ] as const) {
    const headers = await through(way, from, sent);
    expect(headers['x-forwarded-for']).toBe(from);
    expect(headers['x-forwarded-proto']).toBe(way === 'tls' ? 'https' : 'http');
  }
});

it('many clients at once keep their own addresses', async () => {
  const addresses = Array.from({ length: 60 }, (_, index) => `127.0.1.${index + 1}`);
  for (const way of WAYS) {
    const seen = await Promise.all(addresses.map((address) => through(way, address)));
    expect(seen.map((headers) => headers['x-forwarded-for'])).toEqual(addresses);
  }
  expect(await metric(gateway, 'headgate_proxy_headers_refused_total')).toBe(0);
  // An address that is not listed is served without a header.
  expect((await request(gateway, '/shop/v1/x')).status).toBe(200);
});
