/** grpc.testing.TestService by grpc-js, in a process of its own. Argument: the port. */
import { setTimeout as sleep } from 'node:timers/promises';
import * as grpc from '@grpc/grpc-js';
import { testService } from './testing-messages.ts';

interface Asked {
  readonly responseSize?: number;
  readonly responseParameters?: readonly { readonly size: number; readonly intervalUs: number }[];
  readonly responseStatus?: { readonly code: number; readonly message: string } | null;
  readonly payload?: { readonly body: Uint8Array } | null;
}

type Stream = grpc.ServerWritableStream<Asked, object> | grpc.ServerDuplexStream<Asked, object>;

const payload = (size: number): object => ({ payload: { body: Buffer.alloc(size) } });

/** Sends back the field of the head, and returns that of the trailers. */
function echo(call: grpc.ServerUnaryCall<Asked, object> | Stream): grpc.Metadata {
  const [head] = call.metadata.get('x-grpc-test-echo-initial');
  const [end] = call.metadata.get('x-grpc-test-echo-trailing-bin');
  const fields = new grpc.Metadata();
  const trailers = new grpc.Metadata();
  if (head !== undefined) fields.set('x-grpc-test-echo-initial', head);
  if (end !== undefined) trailers.set('x-grpc-test-echo-trailing-bin', end);
  if (head !== undefined) call.sendMetadata(fields);
  return trailers;
}

const failure = ({ responseStatus }: Asked, metadata: grpc.Metadata): grpc.StatusObject | undefined =>
  responseStatus === null || responseStatus === undefined || responseStatus.code === 0
    ? undefined
    : { code: responseStatus.code, details: responseStatus.message, metadata };

async function writePieces(call: Stream, { responseParameters = [] }: Asked): Promise<void> {
  for (const { size, intervalUs } of responseParameters) {
    if (intervalUs > 0) await sleep(intervalUs / 1000);
    call.write(payload(size));
  }
}

const handlers: grpc.UntypedServiceImplementation = {
  EmptyCall: (_call: unknown, done: grpc.sendUnaryData<object>) => done(null, {}),
  UnaryCall: (call: grpc.ServerUnaryCall<Asked, object>, done: grpc.sendUnaryData<object>) => {
    const trailers = echo(call);
    done(failure(call.request, trailers) ?? null, payload(call.request.responseSize ?? 0), trailers);
  },
  StreamingOutputCall: (call: grpc.ServerWritableStream<Asked, object>) => {
    void writePieces(call, call.request).then(() => call.end());
  },
  StreamingInputCall: (call: grpc.ServerReadableStream<Asked, object>, done: grpc.sendUnaryData<object>) => {
    let size = 0;
    call.on('data', (asked: Asked) => (size += asked.payload?.body.length ?? 0));
    call.on('end', () => done(null, { aggregatedPayloadSize: size }));
  },
  FullDuplexCall: (call: grpc.ServerDuplexStream<Asked, object>) => {
    const trailers = echo(call);
    let written = Promise.resolve();
    call.on('data', (asked: Asked) => {
      const error = failure(asked, trailers);
      if (error !== undefined) call.emit('error', error);
      written = written.then(() => writePieces(call, asked));
    });
    call.on('end', () => void written.then(() => call.end(trailers)));
  },
};

const { UnimplementedCall: _left, ...service } = testService();
const server = new grpc.Server();
server.addService(service, handlers);
server.bindAsync(`127.0.0.1:${process.argv[2]}`, grpc.ServerCredentials.createInsecure(), (error) => {
  if (error !== null) throw error;
});
