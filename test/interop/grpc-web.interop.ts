/**
 * The gRPC-Web client of the gRPC project, as a page would use it, through the gateway to the server of grpc-go, which
 * knows nothing of gRPC-Web. Messages of grpc.testing.TestService are written by hand.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../support/backends/origin-process.ts';
import { goModule, npmPackages } from './programs/install.ts';
import { startInteropGateway, type InteropGateway } from './programs/interop-gateway.ts';
import { startServer, type ServerProcess } from './programs/server-process.ts';

const SERVICE = '/grpc.testing.TestService';

/** Of the package grpc-web, as far as it is used here. */
interface Rpc {
  on(event: 'data', call: (message: Uint8Array) => void): void;
  on(event: 'status', call: (status: { readonly code: number; readonly details: string }) => void): void;
  on(event: 'error', call: (error: { readonly code: number; readonly message: string }) => void): void;
  on(event: 'end', call: () => void): void;
}
interface GrpcWeb {
  readonly GrpcWebClientBase: new (options: object) => {
    serverStreaming(url: string, request: Uint8Array, metadata: object, method: unknown): Rpc;
    rpcCall(
      url: string,
      request: Uint8Array,
      metadata: object,
      method: unknown,
      done: (error: { readonly code: number; readonly message: string } | null, message: Uint8Array) => void,
    ): Rpc;
  };
  readonly MethodDescriptor: new (...about: readonly unknown[]) => unknown;
  readonly MethodType: Readonly<Record<'UNARY' | 'SERVER_STREAMING', string>>;
}

let grpcWeb: GrpcWeb;
let server: ServerProcess | undefined;
let gateway: InteropGateway | undefined;

beforeAll(async () => {
  const load = createRequire(join(npmPackages('grpc-web@2.1.1', 'xhr2@0.2.1'), 'index.js'));
  Object.assign(globalThis, { XMLHttpRequest: load('xhr2') });
  grpcWeb = load('grpc-web') as GrpcWeb;
  const port = await freePort();
  server = await startServer(port, goModule('server'), ['-port', String(port)]);
  const policy = { auth: { auth_type: 'api_key' }, grpc_web: true };
  gateway = await startInteropGateway({ backend_protocol: 'h2', backend_port: port }, policy);
});
afterAll(async () => {
  await gateway?.stop();
  await server?.stop();
});

const client = (format: string) => new grpcWeb.GrpcWebClientBase({ format });
const urlOf = (method: string): string => `${gateway?.proxy}${SERVICE}/${method}`;
const methodOf = (name: string, type: 'UNARY' | 'SERVER_STREAMING') =>
  new grpcWeb.MethodDescriptor(
    `${SERVICE}/${name}`,
    grpcWeb.MethodType[type],
    Uint8Array,
    Uint8Array,
    (message: Uint8Array) => message,
    (bytes: Uint8Array) => bytes,
  );
const key = (): object => ({ authorization: `Bearer ${gateway?.token}` });

/** Protocol Buffers: a field with a number, and one with bytes. */
const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))];
const number = (field: number, value: number): number[] => [field * 8, ...varint(value)];
const bytes = (field: number, content: readonly number[]): number[] => [
  field * 8 + 2,
  ...varint(content.length),
  ...content,
];

interface Outcome {
  readonly code: number;
  readonly message: string;
  readonly lengths: readonly number[];
}

function unary(format: string, name: string, request: readonly number[], metadata = key()): Promise<Outcome> {
  return new Promise((done) => {
    const about = methodOf(name, 'UNARY');
    client(format).rpcCall(urlOf(name), Uint8Array.from(request), metadata, about, (error, message) =>
      done({
        code: error?.code ?? 0,
        message: error?.message ?? '',
        lengths: error === null ? [message.length] : [],
      }),
    );
  });
}

const FORMATS = ['binary', 'text'];

it.each(FORMATS)('an empty call (%s)', async (format) => {
  expect(await unary(format, 'EmptyCall', [])).toEqual({ code: 0, message: '', lengths: [0] });
});

it.each(FORMATS)('a large call (%s)', async (format) => {
  const payload = bytes(
    3,
    bytes(
      2,
      Array.from({ length: 271_828 }, () => 0),
    ),
  );
  const outcome = await unary(format, 'UnaryCall', [...number(2, 314_159), ...payload]);
  expect(outcome).toMatchObject({ code: 0 });
  expect(outcome.lengths[0]).toBeGreaterThan(314_159);
});

it.each(FORMATS)('a status and its message (%s)', async (format) => {
  const text = [...Buffer.from('test status message')];
  const request = bytes(7, [...number(1, 2), ...bytes(2, text)]);
  expect(await unary(format, 'UnaryCall', request)).toMatchObject({
    code: 2,
    message: 'test status message',
  });
  expect(await unary(format, 'UnimplementedCall', [])).toMatchObject({ code: 12 });
});

it('a call without a key', async () => {
  expect(await unary('text', 'EmptyCall', [], {})).toMatchObject({ code: 16 });
});

it('a stream from the server', async () => {
  const sizes = [31_415, 9, 2_653, 58_979];
  const request = sizes.flatMap((size) => bytes(2, number(1, size)));
  const about = methodOf('StreamingOutputCall', 'SERVER_STREAMING');
  const lengths: number[] = [];
  await new Promise<void>((done, fail) => {
    const url = urlOf('StreamingOutputCall');
    const rpc = client('text').serverStreaming(url, Uint8Array.from(request), key(), about);
    rpc.on('data', (message) => lengths.push(message.length));
    rpc.on('error', (error) => fail(new Error(error.message)));
    rpc.on('end', done);
  });
  expect(lengths).toHaveLength(4);
  for (const [index, size] of sizes.entries()) expect(lengths[index]).toBeGreaterThanOrEqual(size);
});
