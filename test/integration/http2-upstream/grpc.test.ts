/**
 * gRPC end to end, with clients and servers of grpc-js: all kinds of calls, metadata, deadlines, and errors of the
 * gateway.
 */
import * as grpc from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { Policy } from '../../../src/policy/registry.ts';
import { serviceAt, startGrpcServer } from '../../support/backends/grpc-server.ts';
import { CA, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { untilHolds } from '../../support/measure/until.ts';
import { oneRoute, startProxy, type TestProxyOptions } from '../../support/proxy.ts';

const closers = closeAfterEach();

type Calls = grpc.Client & {
  unary(
    request: string,
    metadata: grpc.Metadata,
    options: grpc.CallOptions,
    done: (error: grpc.ServiceError | null, response: string) => void,
  ): grpc.ClientUnaryCall;
  missing: Calls['unary'];
  collect(
    done: (error: grpc.ServiceError | null, response: string) => void,
  ): grpc.ClientWritableStream<string>;
  count(request: string): grpc.ClientReadableStream<string>;
  chat(): grpc.ClientDuplexStream<string, string>;
};

async function start(policy?: Policy, options: TestProxyOptions = {}) {
  const { port, server } = await startGrpcServer();
  closers.push(() => server.forceShutdown());
  const proxy = await startProxy(
    oneRoute({ backendPort: port, revision: { backend_protocol: 'h2' }, ...(policy && { policy }) }),
    { tls: TLS_PAIR, ...options },
  );
  closers.push(() => proxy.close());
  const Client = grpc.makeClientConstructor(serviceAt('/a/v1'), 'demo.Echo');
  const client = new Client(
    `localhost:${proxy.port}`,
    grpc.credentials.createSsl(Buffer.from(CA)),
  ) as unknown as Calls;
  closers.push(() => client.close());
  return { proxy, client, server };
}

interface Outcome {
  readonly response: string | undefined;
  readonly code: number;
  readonly details: string;
  readonly headers: Record<string, unknown>;
  readonly trailers: Record<string, unknown>;
}

function call(
  client: Calls,
  request: string,
  fields: Record<string, string> = {},
  options: grpc.CallOptions = {},
  name: 'unary' | 'missing' = 'unary',
): Promise<Outcome> {
  const metadata = new grpc.Metadata();
  for (const [key, value] of Object.entries(fields)) metadata.set(key, value);
  return new Promise((done) => {
    let response: string | undefined;
    let headers: Record<string, unknown> = {};
    const running = client[name](request, metadata, options, (_error, value) => (response = value));
    running.on('metadata', (received: grpc.Metadata) => (headers = received.getMap()));
    running.on('status', ({ code, details, metadata: trailers }) =>
      setImmediate(() => done({ response, code, details, headers, trailers: trailers.getMap() })),
    );
  });
}

describe('a call', () => {
  it('with one message each way has its metadata at both ends', async () => {
    const { client, proxy } = await start();
    const { response, code, headers, trailers } = await call(client, 'hello', { 'x-own': 'mine' });
    expect({ response, code }).toEqual({ response: 'HELLO', code: 0 });
    expect(headers).toMatchObject({ 'x-seen': 'mine' });
    expect(trailers).toMatchObject({ 'x-end': 'of call', 'x-bytes-bin': Buffer.from([0, 1, 255]) });
    expect(proxy.defects).toEqual([]);
  });

  it('of a megabyte arrives whole', async () => {
    const { client } = await start();
    const { response } = await call(client, 'x'.repeat(1_000_000));
    expect(response).toBe('X'.repeat(1_000_000));
  });

  it('ends with the status of the server', async () => {
    const { client } = await start();
    expect(await call(client, 'hello', { 'x-fail': '9' })).toMatchObject({
      code: grpc.status.FAILED_PRECONDITION,
      details: 'as asked: ü',
    });
    expect(await call(client, 'hello', {}, {}, 'missing')).toMatchObject({ code: grpc.status.UNIMPLEMENTED });
  });

  it('streams from the client, to it, and both ways at once', async () => {
    const { client } = await start();
    const collected = await new Promise<string>((done, fail) => {
      const stream = client.collect((error, value) => (error === null ? done(value) : fail(error)));
      for (let index = 0; index < 200; index++) stream.write(`${index} `);
      stream.end();
    });
    expect(collected.split(' ')).toHaveLength(201);
    const counted: string[] = [];
    await new Promise<void>((done, fail) => {
      const stream = client.count('500');
      stream.on('data', (part: string) => counted.push(part));
      stream.on('end', done);
      stream.on('error', fail);
    });
    expect(counted).toEqual(Array.from({ length: 500 }, (_, index) => String(index)));
    const chat = client.chat();
    const heard: string[] = [];
    chat.on('data', (part: string) => heard.push(part));
    for (const word of ['one', 'two', 'three']) {
      chat.write(word);
      await untilHolds(() => heard.at(-1) === `<${word}>`, word);
    }
    chat.end();
    await new Promise((done) => chat.on('end', done));
    expect(heard).toHaveLength(3);
  });

  it('a hundred at once share one connection', async () => {
    const { client, proxy } = await start();
    const all = await Promise.all(Array.from({ length: 100 }, (_, index) => call(client, `m${index}`)));
    expect(all.map(({ response }) => response)).toEqual(all.map((_, index) => `M${index}`));
    expect(proxy.pool.http2.count).toBe(1);
  });
});

describe('the deadline of a client', () => {
  it('ends the call at the gateway too, and is no failure of the backend', async () => {
    const { client, proxy } = await start();
    const outcome = await call(client, 'never', {}, { deadline: Date.now() + 300 });
    expect(outcome.code).toBe(grpc.status.DEADLINE_EXCEEDED);
    await untilHolds(() => proxy.context.exchangeLimiter.inUse === 0, 'the end of the exchange');
    expect(proxy.breakerOf('rev-1').isPristine).toBe(true);
    expect(await call(client, 'hello')).toMatchObject({ code: 0 });
  });
});

describe('an error of the gateway', () => {
  it.each<[string, Policy, number]>([
    ['without credentials', { auth: { auth_type: 'api_key' } }, grpc.status.UNAUTHENTICATED],
    ['with a method that is not allowed', { allowed_methods: ['GET'] }, grpc.status.UNIMPLEMENTED],
    [
      'from an address that is not allowed',
      { ip_access: { deny: ['127.0.0.1'] } },
      grpc.status.PERMISSION_DENIED,
    ],
    ['with too much', { max_body_bytes: 3 }, grpc.status.RESOURCE_EXHAUSTED],
  ])('%s has the status of gRPC', async (_name, policy, code) => {
    const { client } = await start(policy);
    const outcome = await call(client, 'hello');
    expect(outcome.code).toBe(code);
    expect(outcome.details).not.toBe('');
    expect(outcome.details).not.toMatch(/HTTP|Received/);
  });

  it('says when to come back', async () => {
    const { client } = await start({
      rate_limit: { enabled: true, requests: 1, window_seconds: 60, per: 'ip' },
    });
    expect((await call(client, 'hello')).code).toBe(0);
    const { code, trailers } = await call(client, 'hello');
    expect(code).toBe(grpc.status.RESOURCE_EXHAUSTED);
    expect(Number(trailers['retry-after'])).toBeGreaterThan(0);
  });

  it('for a backend that is gone is UNAVAILABLE', async () => {
    const { client, server } = await start();
    server.forceShutdown();
    expect((await call(client, 'hello')).code).toBe(grpc.status.UNAVAILABLE);
  });

  it('is logged with the status that it has over HTTP', async () => {
    const statuses: number[] = [];
    const observer = {
      exchangeEnded: ({ status }: { readonly status: number }) => void statuses.push(status),
    };
    const { client } = await start({ auth: { auth_type: 'api_key' } }, { observer });
    await call(client, 'hello');
    expect(statuses).toEqual([401]);
  });
});
