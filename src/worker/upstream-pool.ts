/** A worker's connections to backends. */
import type { Egress } from '../egress/egress.ts';
import { askSystem } from '../egress/name-queries.ts';
import type { Clock } from '../lib/clock.ts';
import { DescriptorRoom } from '../lib/listeners.ts';
import type { Logger } from '../observe/log.ts';
import {
  UPSTREAM_AGE_MAX_MS,
  UPSTREAM_IDLE_MAX,
  UPSTREAM_IDLE_TIMEOUT_MS,
  type ProxyOptions,
} from '../proxy/options.ts';
import type { Deadlines } from '../proxy/resilience/deadlines.ts';
import { UpstreamPool } from '../proxy/upstream/pool/pool.ts';
import { createLookup } from '../proxy/upstream/resolver.ts';
import type { ClientCertificates } from '../proxy/upstream/tls/backend-tls.ts';

export interface UpstreamParts {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly egress: Egress;
  /** Those that the gateway presents to backends. */
  readonly clientCertificates: ClientCertificates;
  readonly log: Logger;
}

export function createUpstreamPool(options: ProxyOptions, parts: UpstreamParts): UpstreamPool {
  const { clock, deadlines, egress, clientCertificates, log } = parts;
  return new UpstreamPool(deadlines, {
    idleMax: UPSTREAM_IDLE_MAX,
    idleTimeoutMs: UPSTREAM_IDLE_TIMEOUT_MS,
    ageMsMax: UPSTREAM_AGE_MAX_MS,
    clientCertificates,
    maxUpstreamHttp2Streams: options.maxUpstreamHttp2Streams,
    maxUpstreamHttp2Connections: options.maxUpstreamHttp2Connections,
    egress,
    descriptors: new DescriptorRoom(clock),
    onStray: ({ authority }) =>
      log.warn(
        { backend: authority },
        'a backend has sent bytes that answer no request; its connections are not used again for a minute',
      ),
    lookup: createLookup({
      resolve: askSystem,
      monotonicMs: () => clock.monotonicMs(),
      onFailure: (host, error) =>
        log.warn({ host, err: error }, 'cannot resolve a backend; its last known address stays in use'),
    }),
  });
}
