/** The services of testing.proto for grpc-js, read by protobufjs. */
import { join } from 'node:path';
import type * as grpc from '@grpc/grpc-js';
import protobuf from 'protobufjs';

const PROTO_FILE = join(import.meta.dirname, 'testing.proto');

type Definitions = Readonly<Record<string, grpc.MethodDefinition<object, object>>>;

/** @param name with its package */
export function testService(name = 'grpc.testing.TestService'): Definitions {
  const root = protobuf.loadSync(PROTO_FILE);
  const service = root.lookupService(name);
  const definitions = service.methodsArray.map((method) => {
    const request = root.lookupType(`grpc.testing.${method.requestType}`);
    const response = root.lookupType(`grpc.testing.${method.responseType}`);
    const encode = (type: protobuf.Type) => (value: object) =>
      Buffer.from(type.encode(type.create(value as Record<string, unknown>)).finish());
    const definition: grpc.MethodDefinition<object, object> = {
      path: `/${name}/${method.name}`,
      requestStream: method.requestStream === true,
      responseStream: method.responseStream === true,
      requestSerialize: encode(request),
      requestDeserialize: (bytes) => request.decode(bytes),
      responseSerialize: encode(response),
      responseDeserialize: (bytes) => response.decode(bytes),
    };
    return [method.name, definition] as const;
  });
  return Object.fromEntries(definitions);
}
