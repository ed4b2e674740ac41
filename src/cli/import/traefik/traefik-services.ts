/** Turns Traefik's services into backends: servers with their weights, health checks and transports. */
import { serverNameError } from '../../../management/write/rules/backend.ts';
import { addressOfUrl, addressProblem, backendFields } from '../backend-address.ts';
import type { ImportedBackend, Item } from '../imported-route.ts';
import type { SourceNode } from '../source.ts';
import { durationMs } from './duration.ts';

export interface ServiceBackends {
  readonly backends: readonly WeightedBackend[];
  readonly preserveHost: boolean;
}

interface WeightedBackend extends ImportedBackend {
  readonly weight: number;
}

export const UNUSED = 'is used by no router';
const NESTED_MAX = 10;
const WEIGHT_MAX = 1_000_000;

export class TraefikServices {
  readonly #services: ReadonlyMap<string, SourceNode>;
  readonly #transports: ReadonlyMap<string, SourceNode>;
  readonly #known = new Map<string, ServiceBackends | undefined>();
  /** Names of the transports in use. */
  readonly #used = new Set<string>();

  constructor(services: ReadonlyMap<string, SourceNode>, transports: ReadonlyMap<string, SourceNode>) {
    this.#services = services;
    this.#transports = transports;
  }

  /** Reports the services and transports that no router uses. */
  reportUnused(): void {
    for (const [name, node] of this.#services) if (!this.#known.has(name)) node.lost(UNUSED);
    for (const [name, node] of this.#transports) if (!this.#used.has(name)) node.lost(UNUSED);
  }

  /** Whether the name is that of a service: here, or of another provider. */
  isService(name: string): boolean {
    return this.#services.has(bare(name)) || /@(?!internal$)/.test(name);
  }

  /** undefined when the service does not exist or has no backend; the second is reported at the service. */
  of(name: string, depth = 0): ServiceBackends | undefined {
    if (depth > NESTED_MAX) return undefined;
    if (this.#known.has(name)) return this.#known.get(name);
    const node = this.#services.get(name);
    const read = node && this.#read(node, depth);
    this.#known.set(name, read);
    return read;
  }

  #read(node: SourceNode, depth: number): ServiceBackends | undefined {
    const balancer = node.child('loadBalancer');
    if (balancer !== undefined) return this.#balanced(balancer);
    const weighted = node.child('weighted');
    if (weighted !== undefined) return this.#weighted(weighted, depth);
    for (const kind of ['mirroring', 'failover']) {
      const inner = node.child(kind);
      if (inner === undefined) continue;
      const name = inner.text('service');
      if (kind === 'mirroring') inner.lost('requests are sent to one backend', undefined, 'mirrors');
      else
        inner.lost('another revision takes over when a breaker opens', 'a revision with weight', 'fallback');
      return name === undefined ? undefined : this.of(bare(name), depth + 1);
    }
    node.lost('has no servers that this gateway can send to');
    return undefined;
  }

  #balanced(balancer: SourceNode): ServiceBackends | undefined {
    const transport = this.#transportOf(balancer);
    const probe = probeOf(balancer.child('healthCheck'));
    if (balancer.has('sticky'))
      balancer.lost('keeps clients on one server, and weights do not', undefined, 'sticky');
    balancer.noEffect('bodies are passed on as they come', 'responseForwarding');
    const strategy = balancer.text('strategy');
    if (strategy !== undefined && strategy !== 'wrr')
      balancer.changed('uses weights here', undefined, 'strategy');
    const backends = balancer.items('servers').flatMap((server) => {
      const url = server.text('url');
      const address = url === undefined ? undefined : addressOfUrl(url);
      const weight = weightOf(server, 1);
      const keepsPath = server.boolean('preservePath') === true;
      if (address === undefined || addressProblem(address) !== undefined) {
        server.lost('is not an http or https URL of a backend');
        return [];
      }
      if (!keepsPath && address.path !== '/')
        server.changed('has a path, which has no effect there and here', undefined, 'url');
      const { host, port } = address;
      const fields = {
        ...backendFields({ ...address, path: keepsPath ? address.path : '/' }),
        ...(address.scheme === 'https' && transport !== undefined && { backend_tls: transport }),
        ...probe,
      };
      return [{ label: `${host}-${port}`.replaceAll(':', '.'), fields, weight }];
    });
    const preserveHost = balancer.boolean('passHostHeader') ?? true;
    if (backends.length === 0) balancer.lost('has no server');
    return backends.length === 0 ? undefined : { backends, preserveHost };
  }

  /** Distributes the shares of services over their servers. */
  #weighted(weighted: SourceNode, depth: number): ServiceBackends | undefined {
    if (weighted.has('sticky'))
      weighted.lost('keeps clients on one service, and weights do not', undefined, 'sticky');
    weighted.noEffect('follows from the health of its services', 'healthCheck');
    let preserveHost: boolean | undefined;
    const backends = weighted.items('services').flatMap((item) => {
      const name = item.text('name');
      const weight = weightOf(item, 1);
      const inner = name === undefined ? undefined : this.of(bare(name), depth + 1);
      if (inner === undefined) {
        item.lost('is a service that could not be carried over');
        return [];
      }
      if (preserveHost !== undefined && preserveHost !== inner.preserveHost)
        item.changed('passes the Host as the first service does');
      preserveHost ??= inner.preserveHost;
      const total = inner.backends.reduce((sum, backend) => sum + backend.weight, 0);
      return inner.backends.map((backend) => ({
        ...backend,
        label: `${bare(name ?? '')}-${backend.label}`,
        weight: total === 0 ? 0 : (weight * backend.weight) / total,
      }));
    });
    if (backends.length === 0) return undefined;
    return { backends: wholeWeights(backends), preserveHost: preserveHost ?? true };
  }

  #transportOf(balancer: SourceNode): Item | undefined {
    const name = balancer.text('serversTransport');
    if (name === undefined) return undefined;
    const node = this.#transports.get(bare(name));
    if (node === undefined) {
      balancer.lost(`names the transport "${name}", which is not there`, undefined, 'serversTransport');
      return undefined;
    }
    this.#used.add(bare(name));
    const verify = node.boolean('insecureSkipVerify') !== true;
    const given = node.text('serverName');
    const isName = given !== undefined && serverNameError(given) === undefined;
    const serverName = isName ? given : undefined;
    if (given !== undefined && !isName) node.lost('is not a host name', undefined, 'serverName');
    if (node.has('rootCAs'))
      node.lost('names files, whose content belongs in the configuration', '`backend_tls.ca`', 'rootCAs');
    if (node.has('certificates')) {
      const nearest = '`backend_tls.client_certificate`';
      node.lost('names files of a client certificate', nearest, 'certificates');
    }
    return { ...(!verify && { verify }), ...(serverName !== undefined && { server_name: serverName }) };
  }
}

/** A revision for each backend; without weights when there is only one. */
export function revisionsOf({ backends }: ServiceBackends): ImportedBackend[] {
  if (backends.length === 1) return backends.map(({ label, fields }) => ({ label, fields }));
  return backends.map(({ label, fields, weight }) => ({
    label,
    fields: { ...fields, traffic_weight: weight },
  }));
}

function wholeWeights(backends: readonly WeightedBackend[]): WeightedBackend[] {
  const isWhole = backends.every(({ weight }) => Number.isInteger(weight));
  const scale = isWhole ? 1 : 1000;
  return backends.map((backend) => ({
    ...backend,
    weight: Math.min(WEIGHT_MAX, Math.round(backend.weight * scale)),
  }));
}

function weightOf(node: SourceNode, fallback: number): number {
  const weight = node.number('weight') ?? fallback;
  if (Number.isInteger(weight) && weight >= 0 && weight <= WEIGHT_MAX) return weight;
  node.lost('is not a weight', undefined, 'weight');
  return fallback;
}

function probeOf(check: SourceNode | undefined): Item {
  if (check === undefined) return {};
  const path = check.text('path') ?? '/';
  const interval = durationMs(check, 'interval') ?? 30_000;
  const timeout = durationMs(check, 'timeout') ?? 5_000;
  const status = check.number('status');
  const isPath = /^\/[!-"$-~]*$/.test(path);
  if (!isPath) {
    check.lost('is not a path that a probe can have', undefined, 'path');
    return {};
  }
  const isStatus = status !== undefined && Number.isInteger(status) && status >= 200 && status <= 599;
  if (status !== undefined && status !== 0 && !isStatus) check.lost('is not a status', undefined, 'status');
  return {
    health_check_path: path,
    circuit_breaker: {
      probe: {
        interval_ms: Math.min(3_600_000, Math.max(100, interval)),
        timeout_ms: Math.min(60_000, Math.max(10, timeout)),
        ...(isStatus && { expected_statuses: [status] }),
      },
    },
  };
}

/** The name without the provider after `@`. */
export function bare(name: string): string {
  return name.replace(/@file$/, '');
}
