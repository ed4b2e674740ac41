/**
 * Chooses what carries one attempt: an idle connection to the backend, a new one, or a stream of a shared HTTP/2
 * connection, and translates gRPC-Web calls on the way.
 */
import type { CompiledBackend } from '../../../config/types.ts';
import type { Exchange } from '../../exchange.ts';
import type { Route } from '../../interfaces/route.ts';
import { passedTrailers } from '../../io/edited-fields.ts';
import { FRESH_IDLE_MS } from '../../options.ts';
import { NO_BASE64 } from '../../reasons.ts';
import { grpcWebFormOf } from '../grpc-web/call-form.ts';
import { GrpcWebUpstream } from '../grpc-web/grpc-web-upstream.ts';
import type { Upstream } from '../upstream.ts';

/**
 * What serves an attempt. Protocols are switched on an HTTP/1.1 connection, whatever the backend speaks otherwise.
 * @param fresh no connection that was used before
 * @param isUpgrade the client asks for another protocol
 * @param isRepeatable the request may be sent again if the backend has closed the connection meanwhile
 */
export function takeUpstream(
  exchange: Exchange,
  route: Route,
  backend: CompiledBackend,
  fresh: boolean,
  isUpgrade: boolean,
  isRepeatable: boolean,
): Upstream {
  const { pool, permits } = exchange.context;
  const isHttp2 = !isUpgrade && pool.http2.serves(backend);
  if (isHttp2 || exchange.upstreamProtocol !== undefined) exchange.askedIn(isHttp2 ? 'HTTP/2' : undefined);
  if (isHttp2)
    return translated(pool.http2.stream(backend, route.version.app.id, isRepeatable), exchange, route);
  const isPooled = !fresh && !isUpgrade;
  const pooled = isPooled
    ? isRepeatable
      ? pool.take(backend)
      : pool.takeFresh(backend, FRESH_IDLE_MS)
    : undefined;
  return pooled ?? pool.open(backend, permits.idleMax(backend));
}

/** Translates a gRPC-Web call to gRPC. */
function translated(stream: Upstream, exchange: Exchange, { policy }: Route): Upstream {
  const form = policy.translatesGrpcWeb ? grpcWebFormOf(exchange) : undefined;
  if (form === undefined) return stream;
  return new GrpcWebUpstream(stream, {
    form,
    onBadBody: () => exchange.respondProblem(NO_BASE64, false),
    passedTrailers: (trailers) => passedTrailers(trailers, policy.responseFields),
  });
}
