/** Backends of Kong's services: an address, or an upstream with weighted targets and health checks. */
import { certificatesError, serverNameError } from '../../../management/write/rules/backend.ts';
import { addressOfUrl, addressProblem, backendFields, type BackendAddress } from '../backend-address.ts';
import type { ImportedBackend, Item } from '../imported-route.ts';
import type { SourceNode } from '../source.ts';
import type { KongDocument, KongService, KongUpstream } from './kong-document.ts';
import { counted } from '../../../lib/text/counted.ts';

export interface ServiceBackends {
  readonly backends: readonly ImportedBackend[];
  readonly timeouts: Item | undefined;
  readonly retries: Item | undefined;
  readonly isEnabled: boolean;
}

/** Schemes of backends for Kong's gRPC protocols, which use HTTP/2. */
const GRPC_SCHEMES: ReadonlyMap<string, 'http' | 'https'> = new Map([
  ['grpc', 'http'],
  ['grpcs', 'https'],
]);
const PORT_DEFAULT = 80;
const TARGET_PORT_DEFAULT = 8000;
const RETRIES_MAX = 5;
const WEIGHT_MAX = 1_000_000;

/** undefined when the gateway cannot connect to the address of the service; this is reported. */
export function backendsOf(service: KongService, document: KongDocument): ServiceBackends | undefined {
  const { node } = service;
  const address = addressOf(node);
  const common = {
    timeouts: timeoutsOf(node),
    retries: retriesOf(node),
    isEnabled: node.boolean('enabled') ?? true,
  };
  const tls = tlsOf(node, address, document);
  if (node.has('client_certificate'))
    node.lost(
      'is shown to the backend, and was not carried over',
      'files in `GATEWAY_PROXY__CLIENT_CERTIFICATES` and `backend_tls.client_certificate` of the revision',
      'client_certificate',
    );
  if (address === undefined) return undefined;
  const isGrpc = GRPC_SCHEMES.has(node.text('protocol') ?? '');
  const shared: Item = {
    ...(isGrpc && { backend_protocol: 'h2' }),
    ...(tls !== undefined && { backend_tls: tls }),
  };
  const upstream = document.upstreams.get(address.host);
  if (upstream === undefined) {
    const fields = { ...backendFields(address), ...shared };
    return { ...common, backends: [{ label: 'backend', fields }] };
  }
  const breaker = breakerOf(upstream.node);
  const backends = targetsOf(upstream).map(({ host, port, weight }) => ({
    label: `${host}-${port}`.replaceAll(':', '.'),
    fields: {
      ...backendFields({ ...address, host, port }),
      ...shared,
      ...(weight !== 100 && { traffic_weight: weight }),
      ...breaker,
      // Kong sends and verifies the name of the upstream.
      ...(address.scheme === 'https' &&
        serverNameError(address.host) === undefined && {
          backend_tls: { server_name: address.host, ...tls },
        }),
    },
  }));
  if (backends.length === 0) {
    node.lost(`has the upstream "${address.host}", which has no targets`);
    return undefined;
  }
  return { ...common, backends };
}

function addressOf(node: SourceNode): BackendAddress | undefined {
  const url = node.text('url');
  if (url !== undefined) return fromUrl(node, url);
  const protocol = node.text('protocol') ?? 'http';
  const host = node.text('host');
  const port = node.number('port') ?? PORT_DEFAULT;
  const path = node.text('path') ?? '/';
  const scheme = GRPC_SCHEMES.get(protocol) ?? protocol;
  if (scheme !== 'http' && scheme !== 'https') {
    node.lost(`speaks ${protocol}, and this gateway speaks HTTP only`);
    return undefined;
  }
  if (host === undefined) {
    node.lost('has no host');
    return undefined;
  }
  return checked(node, { scheme, host, port, path });
}

function fromUrl(node: SourceNode, url: string): BackendAddress | undefined {
  const address = addressOfUrl(url);
  if (address === undefined) {
    node.lost('is not an http or https URL, so that the service was left out', undefined, 'url');
    node.lost('has no backend');
    return undefined;
  }
  const { search = '', username = '' } = URL.parse(url) ?? {};
  if (search !== '' || username !== '')
    node.lost('has a query or a user, which are not sent', undefined, 'url');
  for (const name of ['host', 'port', 'path', 'protocol']) {
    if (node.has(name)) node.lost('is also given by the url, and the url was used', undefined, name);
  }
  return checked(node, address);
}

function checked(node: SourceNode, address: BackendAddress): BackendAddress | undefined {
  const problem = addressProblem(address);
  if (problem === undefined) return address;
  node.lost(`${problem}: it has no backend`);
  return undefined;
}

interface Target {
  readonly host: string;
  readonly port: number;
  readonly weight: number;
}

function targetsOf({ node, targets }: KongUpstream): Target[] {
  const algorithm = node.text('algorithm') ?? 'round-robin';
  if (algorithm !== 'round-robin')
    node.changed(`uses weights here, not ${algorithm}`, undefined, 'algorithm');
  const hashOn = node.text('hash_on');
  if (hashOn !== undefined && hashOn !== 'none')
    node.lost('keeps clients on one target, and weights do not', undefined, 'hash_on');
  node.noEffect('is how the other gateway spreads requests', 'slots');
  if (hashOn === undefined) node.noEffect('has no effect without hash_on', 'hash_fallback');
  // What is reported of hash_on holds for it as well.
  else node.text('hash_fallback');
  return targets.flatMap((target) => {
    const text = target.text('target');
    const weight = target.number('weight') ?? 100;
    const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text ?? '') ?? [];
    const host = bracketed ?? plain;
    const portNumber = port === undefined ? TARGET_PORT_DEFAULT : Number(port);
    const address = { scheme: 'http', host: host ?? '', port: portNumber, path: '/' } as const;
    if (host === undefined || addressProblem(address) !== undefined) {
      target.lost('is not an address with a port');
      return [];
    }
    if (!Number.isInteger(weight) || weight < 0 || weight > WEIGHT_MAX) {
      target.lost('is not a weight', undefined, 'weight');
      return [{ host, port: portNumber, weight: 100 }];
    }
    return [{ host, port: portNumber, weight }];
  });
}

/** Active checks become probes of the breaker, passive ones its failure threshold. */
function breakerOf(upstream: SourceNode): Item {
  const checks = upstream.child('healthchecks');
  const active = checks?.child('active');
  const healthy = active?.child('healthy');
  const unhealthy = active?.child('unhealthy');
  const interval = healthy?.number('interval') ?? 0;
  const unhealthyInterval = unhealthy?.number('interval') ?? 0;
  const seconds = interval > 0 ? interval : unhealthyInterval;
  const passive = checks?.child('passive')?.child('unhealthy');
  const failures = passive?.number('tcp_failures') ?? 0;
  const passiveHttp = passive?.number('http_failures') ?? 0;
  const count = failures > 0 ? failures : passiveHttp;
  const path = active?.text('http_path') ?? '/';
  const timeout = active?.number('timeout');
  const successes = healthy?.number('successes') ?? 0;
  const httpFailures = unhealthy?.number('http_failures') ?? 0;
  if (interval > 0 && unhealthyInterval > 0 && interval !== unhealthyInterval)
    unhealthy?.changed(
      `is every ${counted(interval, 'second')}, as for healthy targets`,
      undefined,
      'interval',
    );
  const type = active?.text('type') ?? 'http';
  if (type !== 'http' && type !== 'https') active?.changed('use HTTP here', undefined, 'type');
  const probe = {
    ...(seconds > 0 && { interval_ms: within(seconds * 1000, 100, 3_600_000) }),
    ...(seconds > 0 && timeout !== undefined && { timeout_ms: within(timeout * 1000, 10, 60_000) }),
    ...(seconds > 0 && successes > 0 && { healthy_threshold: within(successes, 1, 100) }),
    ...(seconds > 0 && httpFailures > 0 && { unhealthy_threshold: within(httpFailures, 1, 100) }),
  };
  const breaker = {
    ...(count > 0 && { failures: within(count, 1, 10_000) }),
    ...(passiveHttp > 0 && { count_5xx: true }),
    ...(seconds > 0 && { probe }),
  };
  return {
    ...(seconds > 0 && { health_check_path: path }),
    ...(Object.keys(breaker).length > 0 && { circuit_breaker: breaker }),
  };
}

function within(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, Math.round(value)));
}

function tlsOf(
  node: SourceNode,
  address: BackendAddress | undefined,
  { root }: KongDocument,
): Item | undefined {
  const verify = node.boolean('tls_verify');
  const depth = node.number('tls_verify_depth');
  if (depth !== undefined) node.noEffect('is left to the TLS library', 'tls_verify_depth');
  const trusted = node.texts('ca_certificates') ?? [];
  if (address?.scheme !== 'https') return undefined;
  if (verify === undefined)
    node.changed(
      'has a certificate that is verified here, and is not by default in Kong',
      '`backend_tls: {verify: false}` of the revision',
    );
  const certificates = root.items('ca_certificates');
  const found = trusted.flatMap(({ text, node: item }) => {
    const named = certificates.find((candidate) => candidate.text('id') === text);
    named?.noEffect('follows from the certificate', 'cert_digest', 'tags', 'created_at', 'updated_at');
    const certificate = named?.text('cert');
    const isUsable = certificate !== undefined && certificatesError(certificate) === undefined;
    if (!isUsable) item.lost('names no certificate of the document that can be read');
    return isUsable ? [certificate] : [];
  });
  const tls = {
    ...(verify === false && { verify }),
    ...(found.length > 0 && { ca: found.join('\n') }),
  };
  return Object.keys(tls).length === 0 ? undefined : tls;
}

/** Both gateways use milliseconds. */
function timeoutsOf(node: SourceNode): Item | undefined {
  const [connect, read, write] = ['connect_timeout', 'read_timeout', 'write_timeout'].map((name) => {
    const value = node.number(name);
    return value === undefined ? undefined : within(value, 1, 86_400_000);
  });
  if (write !== undefined && write !== read)
    node.changed('is part of the longest silence, which read_timeout sets here', undefined, 'write_timeout');
  if (connect === undefined && read === undefined) return undefined;
  return {
    ...(connect !== undefined && { connect_ms: connect }),
    ...(read !== undefined && { first_byte_ms: read, idle_ms: read }),
  };
}

function retriesOf(node: SourceNode): Item | undefined {
  const retries = node.number('retries');
  if (retries === undefined) return undefined;
  if (retries > RETRIES_MAX)
    node.changed(`is ${RETRIES_MAX} here, which is the maximum`, undefined, 'retries');
  return { max: within(retries, 0, RETRIES_MAX) };
}
