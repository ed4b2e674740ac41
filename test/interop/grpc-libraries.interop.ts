/**
 * The interoperability tests of gRPC (its `doc/interop-test-descriptions.md`) for each pair of clients and servers of
 * grpc-go, grpc-js, grpcio (Python) and connect-node, through the gateway with an API key, limits and time-outs. The
 * clients of connect-node also speak gRPC-Web, which the gateway translates for these servers.
 */
// oxlint-disable vitest/expect-expect -- the cases assert
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/backends/origin-process.ts';
import { run } from '../support/programs/programs.ts';
import { connectClient } from './programs/connect-client.ts';
import { loadConnect, type Connect } from './programs/connect-types.ts';
import { CASES, withoutAKey, type CaseClient } from './programs/grpc-cases.ts';
import { GO_CASES, runGoClient } from './programs/grpc-go-client.ts';
import { grpcJsClient } from './programs/grpc-js-client.ts';
import { compiledProto, connectPackages, goModule, grpcioPython, source } from './programs/install.ts';
import {
  CA_FILE,
  SERVICE_POLICY,
  startInteropGateway,
  type InteropGateway,
} from './programs/interop-gateway.ts';
import { startServer, type ServerProcess } from './programs/server-process.ts';

type Command = readonly [program: string, ...args: string[]];

let proto = '';
let connect: Connect;
beforeAll(() => {
  proto = compiledProto();
  connect = loadConnect(connectPackages(), join(proto, 'testing.binpb'));
});

const SERVERS: readonly (readonly [name: string, (port: string) => Command])[] = [
  ['grpc-go', (port) => [goModule('server'), '-port', port]],
  ['grpc-js', (port) => [process.execPath, source('grpc-js-server.ts'), port]],
  ['grpcio', (port) => [grpcioPython(), source('grpc_server.py'), proto, port]],
  [
    'connect-node',
    (port) => [
      process.execPath,
      source('connect-server.ts'),
      port,
      'h2',
      connectPackages(),
      join(proto, 'testing.binpb'),
    ],
  ],
];

/** What becomes of a call, from a gateway and the fields of its caller. */
const CLIENTS: readonly (readonly [
  name: string,
  (gateway: InteropGateway, fields: Record<string, string>) => CaseClient,
  kind: 'HTTP/1.1' | 'HTTP/2',
])[] = [
  [
    'grpc-js',
    (at, fields) => grpcJsClient(`localhost:${at.proxyPort}`, grpc.credentials.createInsecure(), fields),
    'HTTP/2',
  ],
  ['grpc-js with TLS', (at, fields) => grpcJsClient(`localhost:${at.tlsPort}`, trusting(), fields), 'HTTP/2'],
  [
    'grpc-js with gzip',
    (at, fields) => grpcJsClient(`localhost:${at.tlsPort}`, trusting(), fields, true),
    'HTTP/2',
  ],
  ['connect-node, gRPC', (at, fields) => connectClient(connect, 'gRPC', secure(at), fields), 'HTTP/2'],
  [
    'connect-node, gRPC with gzip',
    (at, fields) =>
      connectClient(connect, 'gRPC', { ...secure(at), sendCompression: connect.compressionGzip }, fields),
    'HTTP/2',
  ],
  [
    'connect-node, gRPC-Web on HTTP/2',
    (at, fields) => connectClient(connect, 'gRPC-Web', { ...secure(at), httpVersion: '2' }, fields),
    'HTTP/2',
  ],
  [
    'connect-node, gRPC-Web on HTTP/1.1',
    (at, fields) => connectClient(connect, 'gRPC-Web', { ...secure(at), httpVersion: '1.1' }, fields),
    'HTTP/1.1',
  ],
];

const trusting = (): grpc.ChannelCredentials => grpc.credentials.createSsl(readFileSync(CA_FILE));
const secure = ({ tlsPort }: InteropGateway) => ({
  baseUrl: `https://localhost:${tlsPort}`,
  nodeOptions: { ca: readFileSync(CA_FILE) },
});

describe.each(SERVERS)('to a server of %s', (serverName, commandOf) => {
  let server: ServerProcess | undefined;
  let gateway: InteropGateway | undefined;

  beforeAll(async () => {
    const port = await freePort();
    const [program, ...args] = commandOf(String(port));
    server = await startServer(port, program, args);
    const policy = { ...SERVICE_POLICY, grpc_web: true };
    gateway = await startInteropGateway({ backend_protocol: 'h2', backend_port: port }, policy);
  });
  afterAll(async () => {
    await gateway?.stop();
    await server?.stop();
  });

  // The server of grpc-go has no gzip, and says so.
  const clients = CLIENTS.filter(([name]) => serverName !== 'grpc-go' || !name.endsWith('gzip'));
  describe.each(clients)('a client of %s', (_client, create, kind) => {
    let client: CaseClient;
    beforeAll(() => {
      client = create(gateway!, { authorization: `Bearer ${gateway!.token}` });
    });
    afterAll(() => client.close());

    const able = CASES.filter(([, , needs]) => needs !== 'both' || kind !== 'HTTP/1.1');
    it.each(able)('%s', (_case, check) => check(client));
    it('without_a_key', async () => {
      const stranger = create(gateway!, {});
      await withoutAKey(stranger);
      stranger.close();
    });
  });

  // With its own server in grpc-go.interop.ts.
  it.skipIf(serverName === 'grpc-go').each(GO_CASES)('a client of grpc-go: %s', async (name) => {
    const { code, stderr } = await runGoClient(gateway!, true, name);
    expect(code, stderr).toBe(0);
  });

  it.each([false, true])('a client of grpcio (TLS: %s)', async (isSecure) => {
    const { proxyPort = 0, tlsPort = 0, token = '' } = gateway ?? {};
    const at = `localhost:${isSecure ? tlsPort : proxyPort}`;
    const args = [source('grpc_client.py'), proto, at, token, isSecure ? CA_FILE : ''];
    const { code, stdout, stderr } = await run(grpcioPython(), args);
    expect(code, stderr).toBe(0);
    const outcomes = Object.entries(JSON.parse(stdout) as Record<string, string | null>);
    const failed = outcomes.filter(([, wrong]) => wrong !== null);
    if (serverName === 'grpc-go') expect(failed.map(([name]) => name)).toEqual(['client_compressed_unary']);
    else expect(failed).toEqual([]);
    expect(outcomes).toHaveLength(16);
  });
});
