/** The client of grpc-js for the cases. */
import * as grpc from '@grpc/grpc-js';
import { CallError, type Call, type CallOptions, type CaseClient, type Message } from './grpc-cases.ts';
import { testService } from './testing-messages.ts';

type Definition = grpc.MethodDefinition<object, object>;

function metadataOf(fields: NonNullable<CallOptions['fields']>): grpc.Metadata {
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries(fields))
    metadata.set(name, typeof value === 'string' ? value : Buffer.from(value));
  return metadata;
}

/** Messages, and the error at their end, as they come. */
class Received implements AsyncIterable<Message> {
  readonly #events: (() => IteratorResult<Message>)[] = [];
  #wake = (): void => {};

  add(event: () => IteratorResult<Message>): void {
    this.#events.push(event);
    this.#wake();
  }
  [Symbol.asyncIterator](): AsyncIterator<Message> {
    return {
      next: async () => {
        while (this.#events.length === 0) await new Promise<void>((done) => (this.#wake = done));
        return this.#events.shift()!();
      },
    };
  }
}

/** @param fields those of every call; @param isCompressed messages are sent in gzip */
export function grpcJsClient(
  target: string,
  credentials: grpc.ChannelCredentials,
  fields: Readonly<Record<string, string>>,
  isCompressed = false,
): CaseClient {
  const client = new grpc.Client(target, credentials, {
    ...(isCompressed && { 'grpc.default_compression_algorithm': grpc.compressionAlgorithms.gzip }),
  });
  return {
    call(name, requests, options = {}) {
      const definition = testService(options.service)[name]!;
      const metadata = metadataOf({ ...fields, ...options.fields });
      return startCall(client, definition, metadata, requests, options);
    },
    close: () => client.close(),
  };
}

function startCall(
  client: grpc.Client,
  definition: Definition,
  metadata: grpc.Metadata,
  requests: AsyncIterable<object>,
  { timeoutMs, signal }: CallOptions,
): Call {
  const received = new Received();
  const seen: { head?: grpc.Metadata; trailers?: grpc.Metadata } = {};
  const about = { ...(timeoutMs !== undefined && { deadline: Date.now() + timeoutMs }) };
  const take = (value: object): void => received.add(() => ({ value, done: false }));
  const one = (_error: unknown, value?: object): void => void (value !== undefined && take(value));
  const { path, requestSerialize: write, responseDeserialize: read } = definition;

  function observe(call: grpc.ClientUnaryCall | grpc.ClientDuplexStream<object, object>): void {
    call.on('metadata', (fields: grpc.Metadata) => (seen.head = fields));
    call.on('status', ({ code, details, metadata: trailers }: grpc.StatusObject) => {
      seen.trailers = trailers;
      // Behind the last message, which is handed over first.
      setImmediate(() =>
        received.add(() => {
          if (code !== grpc.status.OK) throw new CallError(code, details);
          return { value: undefined, done: true };
        }),
      );
    });
    // Told by the status as well.
    (call as grpc.ClientDuplexStream<object, object>).on('error', () => {});
    signal?.addEventListener('abort', () => call.cancel());
  }

  async function send(): Promise<void> {
    if (!definition.requestStream) {
      for await (const request of requests) {
        const asked = [path, write, read, request, metadata, about] as const;
        if (!definition.responseStream) return observe(client.makeUnaryRequest(...asked, one));
        const call = client.makeServerStreamRequest(...asked);
        call.on('data', take);
        return observe(call);
      }
    }
    const asked = [path, write, read, metadata, about] as const;
    const call = definition.responseStream
      ? client.makeBidiStreamRequest(...asked).on('data', take)
      : client.makeClientStreamRequest(...asked, one);
    observe(call);
    for await (const request of requests) call.write(request);
    call.end();
  }
  void send();
  return { messages: received, field: (where, name) => seen[where]?.get(name)[0] };
}
