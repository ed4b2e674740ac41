/**
 * The interoperability cases of gRPC (its `doc/interop-test-descriptions.md`) for clients that are libraries of
 * JavaScript: each library makes a `CaseClient`, and the cases are the same for all.
 */
import { deepStrictEqual, rejects, strictEqual } from 'node:assert';
import { setTimeout as sleep } from 'node:timers/promises';

export type MethodName =
  | 'EmptyCall'
  | 'UnaryCall'
  | 'StreamingOutputCall'
  | 'StreamingInputCall'
  | 'FullDuplexCall'
  | 'UnimplementedCall';

export interface Message {
  readonly payload?: { readonly body?: Uint8Array } | null;
  readonly aggregatedPayloadSize?: number;
}

export interface CallOptions {
  readonly fields?: Readonly<Record<string, string | Uint8Array>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Another service than grpc.testing.TestService. */
  readonly service?: string;
}

export interface Call {
  /** Ends with a CallError where the status of the call is not OK. */
  readonly messages: AsyncIterable<Message>;
  /** Fields of the head and the trailers, once the messages have ended; binary ones are bytes. */
  field(where: 'head' | 'trailers', name: string): string | Uint8Array | undefined;
}

export interface CaseClient {
  call(method: MethodName, requests: AsyncIterable<object>, options?: CallOptions): Call;
  close(): void;
}

export class CallError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Requests of a stream that are given one by one. */
class Sent implements AsyncIterable<object> {
  readonly #waiting: object[] = [];
  #ended = false;
  #wake = (): void => {};

  push(...requests: readonly object[]): this {
    this.#waiting.push(...requests);
    this.#wake();
    return this;
  }
  end(): this {
    this.#ended = true;
    this.#wake();
    return this;
  }
  async *[Symbol.asyncIterator](): AsyncIterator<object> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) yield next;
      else if (this.#ended) return;
      else await new Promise<void>((done) => (this.#wake = done));
    }
  }
}

const sentAll = (...requests: readonly object[]): Sent => new Sent().push(...requests).end();
const body = (size: number): object => ({ payload: { body: new Uint8Array(size) } });
const REQUEST_SIZES = [27_182, 8, 1_828, 45_904];
const RESPONSE_SIZES = [31_415, 9, 2_653, 58_979];
const asking = (...sizes: readonly number[]): object => ({
  responseParameters: sizes.map((size) => ({ size })),
});
const sizeOf = (message: Message | undefined): number | undefined => message?.payload?.body?.length;

async function all(messages: AsyncIterable<Message>): Promise<Message[]> {
  const found: Message[] = [];
  for await (const message of messages) found.push(message);
  return found;
}

const fails = (call: Call, code: number, message?: string): Promise<void> =>
  rejects(all(call.messages), (error) => {
    strictEqual((error as CallError).code, code, String(error));
    if (message !== undefined) strictEqual((error as CallError).message, message);
    return true;
  });

const statusIs = (client: CaseClient, method: MethodName, message: string): Promise<void> =>
  fails(client.call(method, sentAll({ responseStatus: { code: 2, message } })), 2, message);

async function fieldsAreEchoed(client: CaseClient, method: MethodName, request: object): Promise<void> {
  const fields = {
    'x-grpc-test-echo-initial': 'test_initial_metadata_value',
    'x-grpc-test-echo-trailing-bin': Uint8Array.of(0xab, 0xab, 0xab),
  };
  const call = client.call(method, sentAll(request), { fields });
  strictEqual((await all(call.messages)).length, 1);
  strictEqual(call.field('head', 'x-grpc-test-echo-initial'), 'test_initial_metadata_value');
  const bytes = call.field('trailers', 'x-grpc-test-echo-trailing-bin');
  deepStrictEqual([...(bytes as Uint8Array)], [0xab, 0xab, 0xab]);
}

/**
 * What a case needs of its streams: `stream` is one from each side, `both` that each side goes on when the other has
 * begun, which a client of HTTP/1.1 cannot.
 */
export type CaseKind = 'any' | 'stream' | 'both';

export const CASES: readonly (readonly [string, (client: CaseClient) => Promise<void>, CaseKind])[] = [
  [
    'empty_unary',
    async (client) => strictEqual((await all(client.call('EmptyCall', sentAll({})).messages)).length, 1),
    'any',
  ],
  [
    'large_unary',
    async (client) => {
      const call = client.call('UnaryCall', sentAll({ responseSize: 314_159, ...body(271_828) }));
      deepStrictEqual((await all(call.messages)).map(sizeOf), [314_159]);
    },
    'any',
  ],
  [
    'client_streaming',
    async (client) => {
      const call = client.call('StreamingInputCall', sentAll(...REQUEST_SIZES.map(body)));
      strictEqual((await all(call.messages))[0]?.aggregatedPayloadSize, 74_922);
    },
    'any',
  ],
  [
    'server_streaming',
    async (client) => {
      const call = client.call('StreamingOutputCall', sentAll(asking(...RESPONSE_SIZES)));
      deepStrictEqual((await all(call.messages)).map(sizeOf), RESPONSE_SIZES);
    },
    'any',
  ],
  [
    'ping_pong',
    async (client) => {
      const sent = new Sent();
      const messages = client.call('FullDuplexCall', sent).messages[Symbol.asyncIterator]();
      for (const [index, size] of RESPONSE_SIZES.entries()) {
        sent.push({ ...asking(size), ...body(REQUEST_SIZES[index] ?? 0) });
        strictEqual(sizeOf((await messages.next()).value), size);
      }
      sent.end();
      strictEqual((await messages.next()).done, true);
    },
    'both',
  ],
  [
    'empty_stream',
    async (client) => deepStrictEqual(await all(client.call('FullDuplexCall', sentAll()).messages), []),
    'stream',
  ],
  [
    'timeout_on_sleeping_server',
    (client) => fails(client.call('FullDuplexCall', new Sent().push(body(27_182)), { timeoutMs: 1 }), 4),
    'both',
  ],
  [
    'cancel_after_begin',
    async (client) => {
      const { signal, ...ending } = abortable();
      const failed = fails(client.call('StreamingInputCall', new Sent(), { signal }), 1);
      await sleep(20);
      ending.abort();
      await failed;
    },
    'both',
  ],
  [
    'cancel_after_first_response',
    async (client) => {
      const { signal, ...ending } = abortable();
      const sent = new Sent().push({ ...asking(31_415), ...body(27_182) });
      const messages = client.call('FullDuplexCall', sent, { signal }).messages[Symbol.asyncIterator]();
      strictEqual(sizeOf((await messages.next()).value), 31_415);
      ending.abort();
      await rejects(messages.next(), { code: 1 });
    },
    'both',
  ],
  ['status_code_and_message', (client) => statusIs(client, 'UnaryCall', 'test status message'), 'any'],
  [
    'status_code_and_message of a stream',
    (client) => statusIs(client, 'FullDuplexCall', 'test status message'),
    'stream',
  ],
  [
    'special_status_message',
    (client) =>
      statusIs(client, 'UnaryCall', '\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n'),
    'any',
  ],
  ['unimplemented_method', (client) => fails(client.call('UnimplementedCall', sentAll({})), 12), 'any'],
  [
    'unimplemented_service',
    (client) => {
      const service = 'grpc.testing.UnimplementedService';
      return fails(client.call('UnimplementedCall', sentAll({}), { service }), 12);
    },
    'any',
  ],
  [
    'custom_metadata',
    (client) => fieldsAreEchoed(client, 'UnaryCall', { responseSize: 314_159, ...body(271_828) }),
    'any',
  ],
  ['custom_metadata of a stream', (client) => fieldsAreEchoed(client, 'FullDuplexCall', asking(9)), 'stream'],
];

function abortable(): { readonly signal: AbortSignal; abort(): void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

export const withoutAKey = (client: CaseClient): Promise<void> =>
  fails(client.call('EmptyCall', sentAll({})), 16);
