/** A stop under traffic of every kind, in small; at full size in test/soak/drain.soak.ts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createServer, type AddressInfo } from 'node:net';
import { LAST_WORD, runClient } from '../../support/clients/drain-clients.ts';
import { drainRound } from '../../scenarios/drain.ts';
import { ADMIN_TOKEN, MAIN, startGateway } from '../../support/gateway.ts';
import { startHoldingOrigin } from '../../support/backends/holding-origin.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { createService, requestText } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';
import { steadily } from '../../support/measure/steady.ts';

it.each([false, true])(
  'lets every exchange that has begun come to its end (over TLS: %s)',
  { timeout: 60_000 },
  async (isTls) => {
    const outcome = await drainRound({
      isTls,
      exchangeMsMax: 800,
      beforeMs: 700,
      clients: {
        'keep-alive': 30,
        'new connection each': 10,
        pipelined: 10,
        'chunked upload': 15,
        'slow download': 15,
        ...(isTls && { 'http/2': 5 }),
      },
    });
    expect(outcome.failed).toEqual([]);
    expect(outcome.exitCode).toBe(0);
    expect(outcome.doneAfterSignal).toBeGreaterThan(30);
  },
);

it.each(['', 'Connection: close\r\n'])(
  'clients also report a reset that arrives after an answer (with %j)',
  async (field) => {
    const answer = `HTTP/1.1 200 OK\r\n${field}Content-Length: ${LAST_WORD.length}\r\n\r\n${LAST_WORD}`;
    const server = createServer((socket) => {
      server.close();
      // The answer is read in the turn of the event loop that is between the two.
      const reset = (): unknown => setImmediate(() => setImmediate(() => socket.resetAndDestroy()));
      socket.on('data', () => socket.write(answer, reset)).on('error', () => undefined);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const told: string[] = [];
    const options = { port, isTls: false, exchangeMsMax: 0 };
    await runClient('keep-alive', options, (_kind, outcome) => told.push(outcome));
    expect(told).toEqual(['200', expect.stringMatching(/ECONNRESET|EPIPE/)]);
  },
);

it('SIGINT lets an exchange that has begun come to its end, as SIGTERM does', async () => {
  const backend = await startHoldingOrigin();
  const gateway = await startGateway();
  try {
    await createService(gateway, 'a', backend.port);
    const client = await connectRaw(gateway.proxyPort);
    client.write(requestText('/a/v1/x'));
    await until(() => backend.waiting === 1);
    const unfinished = await connectRaw(gateway.proxyPort);
    unfinished.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\n');
    const dripping = await connectRaw(gateway.proxyPort);
    dripping.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\nX: ');
    const drips = setInterval(() => dripping.write('x'), 200);
    for (const event of ['end', 'close']) dripping.socket.once(event, () => clearInterval(drips));
    const exited = once(gateway.process, 'exit');
    const signalledMs = performance.now();
    gateway.process.kill('SIGINT');
    await until(async () => {
      const fresh = await connectRaw(gateway.proxyPort).catch(() => undefined);
      fresh?.end();
      return fresh === undefined;
    });
    // They have not begun a request: the stop does not wait for the end of their time for a head (10 s).
    expect(await unfinished.response()).toMatchObject({ status: 408 });
    expect(await dripping.response()).toMatchObject({ status: 408 });
    expect(performance.now() - signalledMs).toBeLessThan(8_000);
    expect(gateway.process.exitCode).toBeNull();
    backend.answerAll();
    expect(await client.response()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await client.closed();
    expect(await exited).toEqual([0, null]);
  } finally {
    await gateway.kill();
    await backend.close();
  }
});

it(
  'ends a WebSocket in order when the time for it is over',
  { timeout: 60_000 },
  steadily(async () => {
    const backend = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    backend.on('connection', (socket) => {
      socket.on('error', () => undefined);
      socket.on('message', (text) => socket.send(text));
    });
    const gateway = await startGateway({ env: { GATEWAY_PROXY__DRAIN_TIMEOUT_MS: '1500' } });
    try {
      await createService(gateway, 'a', (backend.address() as AddressInfo).port);
      const client = new WebSocket(`ws://127.0.0.1:${gateway.proxyPort}/a/v1/ws`);
      const errors: string[] = [];
      client.on('error', (error) => errors.push(error.message));
      await new Promise((done) => client.once('open', done));
      const closed = new Promise<number>((done) => client.once('close', done));
      const stopped = gateway.stop();
      const signalledMs = performance.now();
      // It goes on to work until then.
      let echoes = 0;
      client.on('message', () => {
        echoes += 1;
        setTimeout(() => client.send('again'), 50);
      });
      client.send('first');
      // 1006: ended without a closing handshake (RFC 6455 section 7.1.5), which only the backend could begin.
      expect(await closed).toBe(1006);
      const heldMs = performance.now() - signalledMs;
      expect(errors).toEqual([]);
      expect(echoes).toBeGreaterThan(5);
      expect(heldMs).toBeGreaterThan(1_400);
      // Far from the 30 s of the default.
      expect(heldMs).toBeLessThan(10_000);
      expect(await stopped).toBe(0);
    } finally {
      await gateway.kill();
      backend.close();
    }
  }),
);

it(
  'a signal in the middle of the start ends it, and the next start finds everything in order',
  { timeout: 60_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-signal-'));
    try {
      const env = {
        PATH: process.env['PATH'] ?? '',
        GATEWAY_DATABASE_URL: `sqlite://${join(folder, 'headgate.db')}`,
        GATEWAY_SERVER__PORT: '0',
        GATEWAY_PROXY__HOST: '127.0.0.1',
        GATEWAY_PROXY__PORT: '0',
        GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
        GATEWAY_WORKERS: '1',
      };
      for (const [afterMs, signal] of [
        [40, 'SIGTERM'],
        [150, 'SIGINT'],
        [400, 'SIGTERM'],
      ] as const) {
        const child = spawn(process.execPath, [MAIN], { env, stdio: 'ignore' });
        const exited = once(child, 'exit');
        setTimeout(() => child.kill(signal), afterMs);
        // Before the program has come to its first line the system ends it.
        expect([
          [0, null],
          [null, signal],
        ]).toContainEqual(await exited);
      }
      const gateway = await startGateway({ folder, env });
      expect((await gateway.api('GET', '/health')).status).toBe(200);
      expect(await gateway.stop()).toBe(0);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

/** docs/reference/process.md, and what service managers are told to wait on top of the drain. */
const AFTER_DRAIN_MS = 10_000;
const TLS_HANDSHAKE = 0x16;

it(
  'ends within ten seconds after the drain although no peer says a word: collector, receiver, ACME directory, key set',
  { timeout: 60_000 },
  async () => {
    let handshakes = 0;
    const silent = createServer((socket) =>
      socket
        .on('error', () => undefined)
        .once('data', ([first]) => (handshakes += first === TLS_HANDSHAKE ? 1 : 0)),
    );
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const { port } = silent.address() as AddressInfo;
    const url = `127.0.0.1:${port}`;
    const drainMs = 500;
    const gateway = await startGateway({
      env: {
        GATEWAY_PROXY__DRAIN_TIMEOUT_MS: String(drainMs),
        GATEWAY_PROXY__TLS__PORT: '0',
        GATEWAY_OTEL__ENDPOINT: `http://${url}`,
        GATEWAY_OTEL__SIGNALS: 'traces,metrics,logs',
        GATEWAY_OTEL__SAMPLE_RATIO: '1',
        GATEWAY_ACME__DIRECTORY: `https://${url}/directory`,
        GATEWAY_ACME__ACCEPT_TERMS: 'true',
        GATEWAY_ACME__SELF_CHECK: 'false',
        GATEWAY_WEBHOOKS__TIMEOUT_MS: '60000',
      },
    });
    const jwt = { auth_type: 'jwt', required: true, jwt: { jwks_uri: `http://${url}/keys` } };
    await createService(gateway, 'silent', port, {
      app: { hosts: ['silent.example.test'], default_policy: { auth: jwt } },
    });
    const { id } = await gateway.must('POST', '/webhooks', {
      name: 'silent',
      url: `http://${url}/`,
      events: ['*'],
    });
    await gateway.must('PATCH', '/apps/silent', { name: 'An event' });
    const cut = Promise.allSettled([
      gateway.api('POST', `/webhooks/${id}/test`, {}),
      fetch(`${gateway.proxy}/silent/v1/`, { headers: { Host: 'silent.example.test' } }),
    ]);
    // Only the ACME directory is asked over TLS.
    await until(() => handshakes > 0, 30_000);
    const startedMs = performance.now();
    expect(await gateway.stop()).toBe(0);
    expect(performance.now() - startedMs).toBeLessThan(drainMs + AFTER_DRAIN_MS);
    await cut;
    silent.close();
  },
);
