/** A server of gRPC by grpc-js, with one method of each kind; messages are text. */
import * as grpc from '@grpc/grpc-js';

const asBytes = (text: string): Buffer => Buffer.from(text, 'utf8');
const asText = (bytes: Buffer): string => bytes.toString('utf8');

function method(
  path: string,
  requestStream: boolean,
  responseStream: boolean,
): grpc.MethodDefinition<string, string> {
  return {
    path,
    requestStream,
    responseStream,
    requestSerialize: asBytes,
    requestDeserialize: asText,
    responseSerialize: asBytes,
    responseDeserialize: asText,
  };
}

/** Paths and kinds of the methods. @param prefix of the gateway */
export const serviceAt = (prefix: string) => ({
  unary: method(`${prefix}/demo.Echo/Unary`, false, false),
  collect: method(`${prefix}/demo.Echo/Collect`, true, false),
  count: method(`${prefix}/demo.Echo/Count`, false, true),
  chat: method(`${prefix}/demo.Echo/Chat`, true, true),
  missing: method(`${prefix}/demo.Echo/Missing`, false, false),
});

const handlers: grpc.UntypedServiceImplementation = {
  unary: (call: grpc.ServerUnaryCall<string, string>, done: grpc.sendUnaryData<string>) => {
    const wanted = Number(call.metadata.get('x-fail')[0] ?? 0);
    const trailers = new grpc.Metadata();
    trailers.set('x-end', 'of call');
    trailers.set('x-bytes-bin', Buffer.from([0, 1, 255]));
    if (call.request === 'never') return;
    if (wanted !== 0) return void done({ code: wanted, details: 'as asked: ü', metadata: trailers });
    const headers = new grpc.Metadata();
    headers.set('x-seen', String(call.metadata.get('x-own')[0] ?? ''));
    call.sendMetadata(headers);
    done(null, call.request.toUpperCase(), trailers);
  },
  collect: (call: grpc.ServerReadableStream<string, string>, done: grpc.sendUnaryData<string>) => {
    let all = '';
    call.on('data', (part: string) => (all += part));
    call.on('end', () => done(null, all));
  },
  count: (call: grpc.ServerWritableStream<string, string>) => {
    for (let index = 0; index < Number(call.request); index++) call.write(String(index));
    call.end();
  },
  chat: (call: grpc.ServerDuplexStream<string, string>) => {
    call.on('data', (part: string) => call.write(`<${part}>`));
    call.on('end', () => call.end());
  },
};

export async function startGrpcServer(): Promise<{ readonly port: number; readonly server: grpc.Server }> {
  const server = new grpc.Server();
  const { missing: _missing, ...service } = serviceAt('');
  server.addService(service, handlers);
  const port = await new Promise<number>((done, fail) =>
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? done(bound) : fail(error),
    ),
  );
  return { port, server };
}
