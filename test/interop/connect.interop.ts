/**
 * The Connect protocol, client to gateway to server of connect-node, and gRPC-Web as the server speaks it itself: on
 * HTTP/1.1 and HTTP/2 of both sides, as Protocol Buffers and JSON. To the gateway these are ordinary requests.
 */
// oxlint-disable vitest/expect-expect -- the cases assert
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { freePort } from '../support/backends/origin-process.ts';
import { connectClient, type ConnectProtocol } from './programs/connect-client.ts';
import { loadConnect, type Connect, type TransportOptions } from './programs/connect-types.ts';
import { CASES, withoutAKey, type CaseClient } from './programs/grpc-cases.ts';
import { compiledProto, connectPackages, source } from './programs/install.ts';
import {
  CA_FILE,
  SERVICE_POLICY,
  startInteropGateway,
  type InteropGateway,
} from './programs/interop-gateway.ts';
import { startServer, type ServerProcess } from './programs/server-process.ts';

type Options = Omit<TransportOptions, 'baseUrl' | 'httpVersion'>;

let descriptors = '';
let connect: Connect;
beforeAll(() => {
  descriptors = join(compiledProto(), 'testing.binpb');
  connect = loadConnect(connectPackages(), descriptors);
});

const CLIENTS: readonly (readonly [name: string, ConnectProtocol, version: '1.1' | '2', () => Options])[] = [
  ['Connect on HTTP/1.1', 'Connect', '1.1', () => ({ useBinaryFormat: true })],
  ['Connect on HTTP/2', 'Connect', '2', () => ({ useBinaryFormat: true })],
  ['Connect with JSON', 'Connect', '2', () => ({ useBinaryFormat: false })],
  [
    'Connect with gzip',
    'Connect',
    '1.1',
    () => ({ useBinaryFormat: true, sendCompression: connect.compressionGzip }),
  ],
  ['Connect with GET', 'Connect', '1.1', () => ({ useBinaryFormat: true, useHttpGet: true })],
  ['gRPC-Web on HTTP/1.1', 'gRPC-Web', '1.1', () => ({})],
  ['gRPC-Web on HTTP/2', 'gRPC-Web', '2', () => ({})],
];

describe.each(['http1', 'h2'] as const)('to a server over %s', (protocol) => {
  let server: ServerProcess | undefined;
  let gateway: InteropGateway | undefined;

  beforeAll(async () => {
    const port = await freePort();
    const args = [source('connect-server.ts'), String(port), protocol, connectPackages(), descriptors];
    server = await startServer(port, process.execPath, args);
    gateway = await startInteropGateway({ backend_protocol: protocol, backend_port: port }, SERVICE_POLICY);
  });
  afterAll(async () => {
    await gateway?.stop();
    await server?.stop();
  });

  describe.each(CLIENTS)('a client of %s', (_name, kind, version, optionsOf) => {
    let create: (fields: Record<string, string>) => CaseClient;
    let client: CaseClient;
    beforeAll(() => {
      const at = {
        baseUrl: `https://localhost:${gateway!.tlsPort}`,
        nodeOptions: { ca: readFileSync(CA_FILE) },
      };
      create = (fields) =>
        connectClient(connect, kind, { ...at, httpVersion: version, ...optionsOf() }, fields);
      client = create({ authorization: `Bearer ${gateway!.token}` });
    });

    // The server refuses streams of both sides on HTTP/1.1.
    const able = CASES.filter(
      ([, , needs]) => needs === 'any' || (protocol === 'h2' && (needs === 'stream' || version === '2')),
    );
    it.each(able)('%s', (_case, check) => check(client));
    it('without_a_key', () => withoutAKey(create({})));
  });
});
