/** Health checks by the health service of gRPC: servers of grpc-js, and answers that no good server gives. */
import * as grpc from '@grpc/grpc-js';
import type * as http2 from 'node:http2';
import { describe, expect, it } from 'vitest';
import { compileBackend } from '../../../src/config/backend.ts';
import { probe, PROBE_DEFAULTS } from '../../../src/control/health/probe.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Revision } from '../../../src/model/resources.ts';
import { startHttp2Backend, type OnStream } from '../../support/backends/http2-backend.ts';
import { startOrigin } from '../../support/backends/origin.ts';
import { CA, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { startGateway } from '../../support/gateway.ts';
import { steadily } from '../../support/measure/steady.ts';
import { until, untilHolds } from '../../support/measure/until.ts';
import { createService } from '../../support/traffic.ts';
import { oneRoute, revisionOf, startProxy } from '../../support/proxy.ts';

const closers = closeAfterEach();
const SERVING = Buffer.from([0, 0, 0, 0, 2, 8, 1]);
const NOT_SERVING = Buffer.from([0, 0, 0, 0, 2, 8, 2]);
const GRPC = { ':status': 200, 'content-type': 'application/grpc' };

/** @param timeoutMs by default none that a busy machine could miss */
async function check(port: number, service = '', changes: Partial<Revision> = {}, timeoutMs = 30_000) {
  const proxy = await startProxy(oneRoute({ backendPort: port }));
  closers.push(() => proxy.close());
  const backend = compileBackend(revisionOf('v', port, { backend_protocol: 'h2', ...changes }));
  const rules = { ...PROBE_DEFAULTS, protocol: 'grpc', service, timeout_ms: timeoutMs } as const;
  const result = await probe(backend, '/', rules, proxy.pool, systemClock);
  await untilHolds(() => proxy.pool.http2.count === 0, 'no connection stays');
  return result;
}

/** A server of grpc-js; its services by name. undefined: it has no health service. */
async function server(
  services: ReadonlyMap<string, number> | undefined,
  credentials = grpc.ServerCredentials.createInsecure(),
): Promise<number> {
  const started = new grpc.Server();
  const method: grpc.MethodDefinition<Buffer, Buffer> = {
    path: '/grpc.health.v1.Health/Check',
    requestStream: false,
    responseStream: false,
    requestSerialize: (bytes) => bytes,
    requestDeserialize: (bytes) => bytes,
    responseSerialize: (bytes) => bytes,
    responseDeserialize: (bytes) => bytes,
  };
  const answer: grpc.handleUnaryCall<Buffer, Buffer> = ({ request }, done) => {
    const status = services?.get(request.subarray(request.length > 129 ? 3 : 2).toString());
    if (status === undefined) return void done({ code: grpc.status.NOT_FOUND, details: 'unknown service' });
    done(null, Buffer.from([8, status]));
  };
  if (services !== undefined) started.addService({ check: method }, { check: answer });
  closers.push(() => started.forceShutdown());
  return await new Promise<number>((done, fail) =>
    started.bindAsync('127.0.0.1:0', credentials, (error, port) =>
      error === null ? done(port) : fail(error),
    ),
  );
}

async function backendOf(onStream: OnStream): Promise<number> {
  const backend = await startHttp2Backend(onStream);
  closers.push(() => backend.close());
  return backend.port;
}

/** Answers with these bytes and trailers, in pieces of one byte. */
function answers(
  bytes: Buffer,
  trailers: http2.OutgoingHttpHeaders | undefined = { 'grpc-status': '0' },
): OnStream {
  return (stream) => {
    stream.respond(GRPC, { waitForTrailers: true });
    stream.on('wantTrailers', () =>
      trailers === undefined ? stream.close(0) : stream.sendTrailers(trailers),
    );
    for (const byte of bytes) stream.write(Buffer.from([byte]));
    stream.end();
  };
}

const resets: OnStream = (stream) => {
  stream.respond(GRPC, { waitForTrailers: true });
  stream.write(SERVING);
  setTimeout(() => stream.close(2), 50);
};

describe('a server of grpc-js', () => {
  const services = new Map([
    ['', 1],
    ['shop.Orders', 1],
    ['shop.Carts', 2],
    ['shop.Odd', 0],
    ['x'.repeat(250), 1],
  ]);

  it.each([
    ['', 'SERVING', null],
    ['shop.Orders', 'SERVING', null],
    ['x'.repeat(250), 'SERVING', null],
    ['shop.Carts', null, 'the backend is NOT_SERVING'],
    ['shop.Odd', null, 'the backend is UNKNOWN'],
    ['shop.Missing', null, 'the backend does not know the service "shop.Missing" (NOT_FOUND)'],
  ])('asked for %j', async (service, answer, error) => {
    const result = await check(await server(services), service);
    expect([result.ok, result.answer ?? null, result.error ?? null, result.status]).toEqual([
      answer !== null,
      answer,
      error,
      200,
    ]);
  });

  it('without a health service', async () => {
    expect(await check(await server(undefined))).toMatchObject({
      ok: false,
      error: 'the backend has no health service of gRPC (UNIMPLEMENTED)',
    });
  });

  it('over TLS, also where the traffic takes what the backend chooses', async () => {
    const credentials = grpc.ServerCredentials.createSsl(null, [
      { cert_chain: Buffer.from(TLS_PAIR.cert), private_key: Buffer.from(TLS_PAIR.key) },
    ]);
    const tls = { backend_scheme: 'https', backend_host: 'localhost', backend_tls: { ca: CA } } as const;
    const port = await server(services, credentials);
    for (const backend_protocol of ['h2', 'auto'] as const)
      expect(await check(port, '', { ...tls, backend_protocol })).toMatchObject({ ok: true });
  });
});

describe('what the backend is asked', () => {
  it('is one message, with a deadline', async () => {
    const asked: string[] = [];
    const port = await backendOf((stream, headers) => {
      const { ':method': method, ':path': path, 'content-type': type, te } = headers;
      asked.push([method, path, type, te, headers['grpc-timeout'], headers['user-agent']].join(' '));
      stream.on('data', (bytes: Buffer) => asked.push(bytes.toString('hex')));
      answers(SERVING)(stream, headers, []);
    });
    expect(await check(port, 'ab', {}, 15_000)).toMatchObject({ ok: true });
    expect(asked).toEqual([
      'POST /grpc.health.v1.Health/Check application/grpc trailers 15000m headgate-health-check',
      '00000000040a026162',
    ]);
  });
});

describe('a bad answer', () => {
  it.each<[string, OnStream, string]>([
    ['another status', (stream) => stream.respond({ ':status': 404 }, { endStream: true }), 'status 404'],
    [
      'another content-type',
      (stream) => stream.respond({ ':status': 200, 'content-type': 'text/html' }, { endStream: true }),
      'content-type',
    ],
    [
      'SERVING in a call that fails',
      answers(SERVING, { 'grpc-status': '14', 'grpc-message': 'later' }),
      'UNAVAILABLE: later',
    ],
    ['a code that there is not', answers(SERVING, { 'grpc-status': '99' }), 'gRPC does not define'],
    ['no code', answers(SERVING, {}), 'without a grpc-status'],
    ['no trailers', (stream) => void (stream.respond(GRPC), stream.end(SERVING)), 'without a grpc-status'],
    ['no message', answers(Buffer.alloc(0)), 'without an answer'],
    ['a cut message', answers(SERVING.subarray(0, 6)), 'without an answer'],
    ['two messages', answers(Buffer.concat([SERVING, SERVING])), 'more than one message'],
    ['a compressed message', answers(Buffer.from([1, 0, 0, 0, 2, 8, 1])), 'compressed'],
    [
      'a message without end',
      answers(Buffer.concat([Buffer.from([0, 255, 255, 255, 255]), Buffer.alloc(99)])),
      '4294967295 bytes',
    ],
    ['no Protocol Buffers', answers(Buffer.from([0, 0, 0, 0, 2, 255, 255])), 'not a HealthCheckResponse'],
    ['a status that there is not', answers(Buffer.from([0, 0, 0, 0, 2, 8, 9])), 'not a HealthCheckResponse'],
    ['a call that is reset', resets, 'HTTP/2 stream'],
    ['NOT_SERVING', answers(NOT_SERVING), 'NOT_SERVING'],
  ])('%s', async (_what, onStream, words) => {
    const result = await check(await backendOf(onStream));
    expect(result).toMatchObject({ ok: false, error: expect.stringContaining(words) });
  });

  it(
    'that does not come, or does not end, is late',
    steadily(async () => {
      const silent = await check(await backendOf(() => undefined), '', {}, 300);
      expect(silent).toMatchObject({ ok: false, status: undefined, error: 'no answer within 300 ms' });
      const endless = await backendOf((stream) => {
        stream.respond(GRPC);
        stream.write(SERVING);
      });
      const unended = await check(endless, '', {}, 300);
      expect(unended).toMatchObject({ ok: false, status: 200, error: 'no end of the call within 300 ms' });
    }),
  );

  it('of a server without HTTP/2 says so', async () => {
    const origin = await startOrigin();
    closers.push(() => origin.close());
    expect(await check(origin.port)).toMatchObject({
      ok: false,
      error: expect.stringContaining('does not speak HTTP/2'),
    });
  });
});

it('opens and closes the breaker of a revision, and each of its targets', async () => {
  const services = new Map([['shop.Orders', 1]]);
  const ports = [await server(services), await server(undefined)];
  const gateway = await startGateway({});
  closers.push(() => gateway.stop());
  const probe = {
    circuit_breaker: {
      probe: { protocol: 'grpc', service: 'shop.Orders', interval_ms: 100, unhealthy_threshold: 1 },
    },
  };
  const revision = { backend_protocol: 'h2', ...probe };
  await createService(gateway, 'one', ports[0] as number, { revision });
  const targets = ports.map((port) => ({ host: '127.0.0.1', port }));
  await createService(gateway, 'two', ports[0] as number, {
    revision: { ...revision, targets, backend_host: undefined, backend_port: undefined },
  });
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are looked into freely by tests
  const healthOf = (slug: string): Promise<any> =>
    gateway.must('GET', `/apps/${slug}/versions/v1/revisions/r1/health`);
  const isWell = async () => (await healthOf('one')).last_probe?.ok === true;
  await until(isWell);
  expect(await healthOf('one')).toMatchObject({
    state: 'closed',
    probing: 'always',
    last_probe: { status: 200 },
  });
  await until(async () => (await healthOf('two')).targets?.[1]?.state === 'unhealthy');
  expect((await healthOf('two')).targets).toMatchObject([
    { state: 'in_service' },
    { last_probe: { error: expect.stringContaining('UNIMPLEMENTED') } },
  ]);
  services.set('shop.Orders', 2);
  await until(async () => (await healthOf('one')).state === 'open');
  const [opened] = (await healthOf('one')).history;
  expect(opened).toMatchObject({ detail: 'the health check failed: the backend is NOT_SERVING' });
  services.set('shop.Orders', 1);
  await until(async () => (await healthOf('one')).state === 'closed');
  const [closed] = (await healthOf('one')).history;
  expect(closed).toMatchObject({ detail: 'the health check was answered with SERVING' });
});
