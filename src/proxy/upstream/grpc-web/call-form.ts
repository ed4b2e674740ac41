/**
 * Whether a request is a call of gRPC or gRPC-Web to the gateway itself: for its errors, its deadline, its translation.
 */
import { grpcTimeoutMs, isGrpc, timeoutMsOf } from '../../../http/grpc/grpc.ts';
import { grpcWebForm, webTypeOf, type GrpcWebForm } from '../../../http/grpc/grpc-web.ts';
import type { ExchangeView } from '../../interfaces/exchange-view.ts';

type Call = Pick<ExchangeView, 'connection' | 'route' | 'version'>;

/** undefined where the policy does not translate it. */
export function grpcWebFormOf({ connection: { head }, route, version }: Call): GrpcWebForm | undefined {
  const policy = route === undefined ? version?.unmatched : route.policy;
  if (policy?.translatesGrpcWeb !== true) return undefined;
  return grpcWebForm(head.get('content-type'), head.get('accept'));
}

/** The `content-type` of errors, which clients of gRPC read from the head; undefined: the client reads HTTP. */
export function errorTypeOf(call: Call): string | undefined {
  if (isGrpc(call)) return 'application/grpc';
  const form = grpcWebFormOf(call);
  return form && webTypeOf(form);
}

/** Milliseconds that the client gives its call; Infinity if it gives none. */
export function callTimeoutMs(call: Call): number {
  if (grpcWebFormOf(call) === undefined) return grpcTimeoutMs(call);
  return timeoutMsOf(call.connection.head.get('grpc-timeout'));
}
