/**
 * grpc.testing.TestService by connect-node, which answers gRPC, gRPC-Web and Connect, in a process of its own.
 * Arguments: the port, `http1` or `h2`, the folder of the packages, and the file that describes the service.
 */
import * as http from 'node:http';
import * as http2 from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConnect, type Context, type Router } from './connect-types.ts';

const [, , port = '', protocol = '', folder = '', descriptors = ''] = process.argv;
const { connectNodeAdapter, ConnectError, serviceOf } = loadConnect(folder, descriptors);

interface Asked {
  readonly responseSize: number;
  readonly responseParameters: readonly { readonly size: number; readonly intervalUs: number }[];
  readonly responseStatus?: { readonly code: number; readonly message: string };
  readonly payload?: { readonly body: Uint8Array };
}

const payload = (size: number): object => ({ payload: { body: new Uint8Array(size) } });

function echo({ requestHeader, responseHeader, responseTrailer }: Context): void {
  const head = requestHeader.get('x-grpc-test-echo-initial');
  const end = requestHeader.get('x-grpc-test-echo-trailing-bin');
  if (head !== null) responseHeader.set('x-grpc-test-echo-initial', head);
  if (end !== null) responseTrailer.set('x-grpc-test-echo-trailing-bin', end);
}

function endAsAsked({ responseStatus }: Asked): void {
  if (responseStatus === undefined || responseStatus.code === 0) return;
  throw new ConnectError(responseStatus.message, responseStatus.code);
}

async function* pieces({ responseParameters }: Asked): AsyncGenerator<object> {
  for (const { size, intervalUs } of responseParameters) {
    if (intervalUs > 0) await sleep(intervalUs / 1000);
    yield payload(size);
  }
}

const methods = {
  emptyCall: () => ({}),
  unaryCall(asked: Asked, context: Context) {
    echo(context);
    endAsAsked(asked);
    return payload(asked.responseSize);
  },
  async *streamingOutputCall(asked: Asked) {
    yield* pieces(asked);
  },
  async streamingInputCall(all: AsyncIterable<Asked>) {
    let size = 0;
    for await (const asked of all) size += asked.payload?.body.length ?? 0;
    return { aggregatedPayloadSize: size };
  },
  async *fullDuplexCall(all: AsyncIterable<Asked>, context: Context) {
    echo(context);
    for await (const asked of all) {
      endAsAsked(asked);
      yield* pieces(asked);
    }
  },
};

const handler = connectNodeAdapter({
  routes: (router: Router) => router.service(serviceOf('grpc.testing.TestService'), methods),
});
const server =
  protocol === 'h2' ? http2.createServer(handler as never) : http.createServer((...both) => handler(...both));
server.listen(Number(port), '127.0.0.1');
