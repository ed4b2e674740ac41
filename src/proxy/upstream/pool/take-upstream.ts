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
  if (!isUpgrade && pool.http2.serves(backend)) return takeStream(exchange, route, backend, isRepeatable);
  if (exchange.upstreamProtocol !== undefined) exchange.askedIn(undefined);
  if (!fresh && !isUpgrade) {
    const pooled = isRepeatable ? pool.take(backend) : pool.takeFresh(backend, FRESH_IDLE_MS);
    if (pooled !== undefined) return pooled;
  }
  return pool.open(backend, permits.idleMax(backend));
}

function takeStream(
  exchange: Exchange,
  route: Route,
  backend: CompiledBackend,
  isRepeatable: boolean,
): Upstream {
  exchange.askedIn('HTTP/2');
  const { pool } = exchange.context;
  return translated(pool.http2.stream(backend, route.version.app.id, isRepeatable), exchange, route);
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
