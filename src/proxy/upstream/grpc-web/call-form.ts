/**
 * Whether the gateway treats a request as a gRPC or gRPC-Web call, which affects its errors, its deadline and its
 * translation.
 */
import { grpcTimeoutMs, isGrpc, timeoutMsOf } from '../../../http/grpc/grpc.ts';
import { grpcWebForm, webTypeOf, type GrpcWebForm } from '../../../http/grpc/grpc-web.ts';
import type { ExchangeView } from '../../interfaces/exchange-view.ts';

type Call = Pick<ExchangeView, 'connection' | 'route' | 'version'>;

/** undefined when the policy does not translate it. */
export function grpcWebFormOf({ connection: { head }, route, version }: Call): GrpcWebForm | undefined {
  const policy = route === undefined ? version?.unmatched : route.policy;
  if (policy?.translatesGrpcWeb !== true) return undefined;
  return grpcWebForm(head.get('content-type'), head.get('accept'));
}

/**
 * The `content-type` of errors for gRPC clients, which read it from the head; undefined when the client reads
 * HTTP errors.
 */
export function errorTypeOf(call: Call): string | undefined {
  if (isGrpc(call)) return 'application/grpc';
  const form = grpcWebFormOf(call);
  return form && webTypeOf(form);
}

/** The client's time limit for its call in milliseconds; Infinity when it sets none. */
export function callTimeoutMs(call: Call): number {
  if (grpcWebFormOf(call) === undefined) return grpcTimeoutMs(call);
  return timeoutMsOf(call.connection.head.get('grpc-timeout'));
}
