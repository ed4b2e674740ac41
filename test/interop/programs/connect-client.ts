/** Clients of Connect for the cases: of gRPC, gRPC-Web and the Connect protocol. */
import { CallError, type Call, type CallOptions, type CaseClient, type Message } from './grpc-cases.ts';
import type { Connect, TransportOptions } from './connect-types.ts';

export type ConnectProtocol = 'gRPC' | 'gRPC-Web' | 'Connect';

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64').replace(/=+$/, '');

/** @param fields those of every call */
export function connectClient(
  connect: Connect,
  protocol: ConnectProtocol,
  options: TransportOptions,
  fields: Readonly<Record<string, string>>,
): CaseClient {
  const create = {
    gRPC: connect.createGrpcTransport,
    'gRPC-Web': connect.createGrpcWebTransport,
    Connect: connect.createConnectTransport,
  }[protocol];
  const transport = create(options);
  return {
    call: (name, requests, asked = {}) =>
      startCall(connect, transport, name, requests, { ...asked, fields: { ...fields, ...asked.fields } }),
    close: () => {},
  };
}

function startCall(
  connect: Connect,
  transport: unknown,
  name: string,
  requests: AsyncIterable<object>,
  { fields = {}, timeoutMs, signal, service = 'grpc.testing.TestService' }: CallOptions,
): Call {
  const seen: { head?: Headers; trailers?: Headers } = {};
  const headers = new Headers();
  for (const [field, value] of Object.entries(fields))
    headers.set(field, typeof value === 'string' ? value : base64(value));
  const about = {
    headers,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(signal !== undefined && { signal }),
    onHeader: (head: Headers) => void (seen.head = head),
    onTrailer: (trailers: Headers) => void (seen.trailers = trailers),
  };
  const methods = connect.createClient(connect.serviceOf(service), transport);
  const method = methods[`${name[0]?.toLowerCase()}${name.slice(1)}`]!;

  async function* messages(): AsyncGenerator<Message> {
    try {
      if (['StreamingInputCall', 'FullDuplexCall'].includes(name)) {
        if (name === 'FullDuplexCall') yield* method(requests as never, about);
        else yield await method(requests as never, about);
        return;
      }
      for await (const request of requests) {
        if (name === 'StreamingOutputCall') yield* method(request as never, about);
        else yield await method(request as never, about);
      }
    } catch (error) {
      if (!(error instanceof connect.ConnectError)) throw error;
      throw new CallError(error.code, error.rawMessage);
    }
  }
  const field = (where: 'head' | 'trailers', wanted: string): string | Uint8Array | undefined => {
    const text = seen[where]?.get(wanted) ?? undefined;
    return text !== undefined && wanted.endsWith('-bin') ? Buffer.from(text, 'base64') : text;
  };
  return { messages: messages(), field };
}
