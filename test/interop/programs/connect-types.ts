/** Of the packages of Connect (`connectPackages`), as far as it is used here: they are no packages of the project. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface Context {
  readonly requestHeader: Headers;
  readonly responseHeader: Headers;
  readonly responseTrailer: Headers;
}
export type Method = (
  requests: never,
  context: { headers?: Headers; timeoutMs?: number; signal?: AbortSignal } & Readonly<
    Record<'onHeader' | 'onTrailer', (fields: Headers) => void>
  >,
) => Promise<object> & AsyncIterable<object>;
export interface Router {
  service(service: object, methods: Readonly<Record<string, unknown>>): void;
}
export interface TransportOptions {
  readonly baseUrl: string;
  readonly httpVersion?: '1.1' | '2';
  readonly nodeOptions?: object;
  readonly useBinaryFormat?: boolean;
  readonly useHttpGet?: boolean;
  readonly sendCompression?: unknown;
}
export interface Connect {
  readonly createClient: (service: object, transport: unknown) => Readonly<Record<string, Method>>;
  readonly createGrpcTransport: (options: TransportOptions) => unknown;
  readonly createGrpcWebTransport: (options: TransportOptions) => unknown;
  readonly createConnectTransport: (options: TransportOptions) => unknown;
  readonly compressionGzip: unknown;
  readonly connectNodeAdapter: (about: {
    readonly routes: (router: Router) => void;
  }) => (request: IncomingMessage, response: ServerResponse) => void;
  readonly ConnectError: new (
    message: string,
    code: number,
  ) => Error & { readonly code: number; readonly rawMessage: string };
  readonly serviceOf: (name: string) => object;
}

interface Protobuf {
  readonly fromBinary: (schema: object, bytes: Uint8Array) => object;
  readonly createFileRegistry: (set: object) => { getService(name: string): object | undefined };
}

/** @param folder of the packages; @param descriptors the file `testing.binpb` */
export function loadConnect(folder: string, descriptors: string): Connect {
  const load = createRequire(join(folder, 'index.js'));
  const protobuf = load('@bufbuild/protobuf') as Protobuf;
  const { FileDescriptorSetSchema: schema } = load('@bufbuild/protobuf/wkt') as Record<string, object>;
  const registry = protobuf.createFileRegistry(protobuf.fromBinary(schema!, readFileSync(descriptors)));
  return {
    ...(load('@connectrpc/connect') as Connect),
    ...(load('@connectrpc/connect-node') as Connect),
    serviceOf(name) {
      const service = registry.getService(name);
      if (service === undefined) throw new Error(`${descriptors} has no service ${name}`);
      return service;
    },
  };
}
