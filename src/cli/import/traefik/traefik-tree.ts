/** Builds a declared app from the dynamic configuration of Traefik's file provider: one app for all routers. */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../../lib/is-object.ts';
import { checkedPolicy } from '../checked-policy.ts';
import { counted } from '../../../lib/text/counted.ts';
import type { ImportedApp } from '../import-run.ts';
import { UNKNOWN_BACKENDS, type ImportedPattern, type ImportedRoute, type Item } from '../imported-route.ts';
import { withoutOpenings } from '../left-out-routes.ts';
import { intersection } from '../route-patterns.ts';
import { mergedParts, replacedParts } from '../policy-parts.ts';
import { RouteHosts } from '../route-hosts.ts';
import { versionsOf } from '../route-tree.ts';
import { openSource, type SourceNode } from '../source.ts';
import { translateMiddleware, type TranslatedMiddleware } from './middlewares.ts';
import { matchesOf } from './traefik-routes.ts';
import { bare, revisionsOf, TraefikServices, UNUSED } from './traefik-services.ts';

export interface TraefikFile {
  readonly name: string;
  readonly value: unknown;
}

export interface TraefikOptions {
  readonly slug: string;
  readonly gatewayPath: string | undefined;
}

/** Members of a document other than `http`, and the closest feature here. */
const ELSEWHERE: Readonly<Record<string, readonly [string, string?]>> = {
  tcp: ['the gateway speaks HTTP only'],
  udp: ['the gateway speaks HTTP only'],
  tls: ['certificates are settings', 'GATEWAY_PROXY__TLS__CERT_FILE'],
  entryPoints: ['where the gateway listens is a setting', 'GATEWAY_PROXY__PORT'],
  certificatesResolvers: ['certificates are settings', 'GATEWAY_ACME__DIRECTORY'],
  providers: ['the configuration is in the gateway'],
  api: ['the management API is always there', 'GATEWAY_SERVER__PORT'],
  ping: ['probes are at the management listener', '`GET /api/v1/health`'],
  log: ['how the gateway logs is a setting', 'GATEWAY_LOG__LEVEL'],
  accessLog: ['how the gateway logs is a setting'],
  metrics: ['metrics are at the management listener'],
  tracing: ['how requests are traced is a setting'],
  serversTransport: ['each revision says how its backends are verified', '`backend_tls`'],
  global: ['is about the program itself'],
  experimental: ['is about the program itself'],
};

/** Sections of the static configuration, which says where Traefik listens and where it finds its routers. */
const STATIC_SECTIONS = ['entryPoints', 'providers', 'certificatesResolvers', 'api'];

/** What a document without routers probably is, and what to give instead. */
function insteadOfRouters(roots: readonly { readonly root: SourceNode }[]): string {
  const found = STATIC_SECTIONS.find((name) => roots.some(({ root }) => root.has(name)));
  if (found === undefined)
    return '; expected the dynamic configuration of the file provider. Write routers of Docker labels or of Kubernetes as such a file';
  return `; its ${found} is static configuration. Give the files of the file provider (providers.file), and write routers of Docker labels or of Kubernetes as such a file`;
}

export function importTraefik(
  files: readonly TraefikFile[],
  { slug, gatewayPath }: TraefikOptions,
): ImportedApp | { readonly problem: string } {
  const roots: { readonly root: SourceNode; readonly name: string }[] = [];
  for (const { name, value } of files) {
    if (!isObject(value)) return { problem: `${name} is not an object` };
    roots.push({ root: openSource(value), name });
  }
  const https = roots.flatMap(({ root }) => root.child('http') ?? []);
  const collected = (kind: string): Map<string, SourceNode> => collect(https, kind);
  const services = new TraefikServices(collected('services'), collected('serversTransports'));
  const middlewares = new Middlewares(collected('middlewares'));
  const defaultAsks = files.some(({ value }) => asksByDefault(value));
  const routers = [...collected('routers')];
  if (routers.length === 0) return { problem: `it has no http.routers${insteadOfRouters(roots)}` };
  const hosts = new RouteHosts();
  const routes = routers.flatMap(([name, node], index) =>
    routesOf({ name, node, index, defaultAsks, hosts }, services, middlewares),
  );
  const appHosts = hosts.settle();
  services.reportUnused();
  middlewares.reportUnused();
  for (const { root } of roots) {
    for (const [name, [reason, nearest]] of Object.entries(ELSEWHERE))
      if (root.has(name)) root.lost(reason, nearest, name);
  }
  const versions = versionsOf(withoutOpenings(routes, appHosts));
  const findings = roots.flatMap(({ root, name }) =>
    root.ledger
      .conclude(root)
      .map((finding) => (roots.length === 1 ? finding : { ...finding, place: `${name}: ${finding.place}` })),
  );
  const app = {
    gateway_path: gatewayPath ?? `/${slug}`,
    ...(appHosts.length > 0 && { hosts: appHosts }),
    routing_mode: 'managed_endpoint',
    versions,
  };
  return { app, summary: `${counted(routers.length, 'router')}.`, findings };
}

function collect(https: readonly SourceNode[], kind: string): Map<string, SourceNode> {
  const found = new Map<string, SourceNode>();
  for (const http of https) {
    for (const [name, node] of http.entries(kind)) {
      if (found.has(name)) node.lost('is in another file as well, and the first was taken');
      else found.set(name, node);
    }
  }
  return found;
}

interface UsedMiddleware {
  readonly node: SourceNode;
  readonly made: TranslatedMiddleware;
}

const WEAKER: TranslatedMiddleware = { parts: {}, isWeaker: true };
const CHAINED_MAX = 1_000;

class Middlewares {
  readonly #nodes: ReadonlyMap<string, SourceNode>;
  readonly #known = new Map<string, TranslatedMiddleware>();
  readonly #used = new Set<string>();
  #chained = 0;

  constructor(nodes: ReadonlyMap<string, SourceNode>) {
    this.#nodes = nodes;
  }

  reportUnused(): void {
    for (const [name, node] of this.#nodes) if (!this.#used.has(name)) node.lost(UNUSED);
  }

  /** The middlewares in a list of names, with chains expanded; a name that does not exist is reported at the list. */
  namedIn(list: SourceNode, name: string, chains: readonly SourceNode[] = []): UsedMiddleware[] {
    const items = list.texts(name) ?? [];
    const { ledger, pointer } = list;
    const found = items.flatMap(({ text, node: item }): UsedMiddleware[] => {
      const node = this.#nodes.get(bare(text));
      if (node === undefined || chains.includes(node)) {
        item.lost(
          node === undefined
            ? 'names a middleware that is not in the document'
            : 'names a chain that it is in',
        );
        return [{ node: item, made: WEAKER }];
      }
      this.#used.add(bare(text));
      const chain = node.has('chain') ? node.child('chain') : undefined;
      if (chain !== undefined) return this.#inChain(node, chain, chains);
      const made = this.#known.get(node.pointer) ?? translateMiddleware(node);
      this.#known.set(node.pointer, made);
      return [{ node, made }];
    });
    // A middleware that cannot be read may be the one that protects.
    return ledger.hasUnread(`${pointer}/${name}`) ? [...found, { node: list, made: WEAKER }] : found;
  }

  /** Bounded per router: nested chains multiply with every level. */
  #inChain(node: SourceNode, chain: SourceNode, chains: readonly SourceNode[]): UsedMiddleware[] {
    if (chains.length === 0) this.#chained = 0;
    this.#chained += 1;
    if (this.#chained > CHAINED_MAX) {
      node.lost(`is one of more than ${CHAINED_MAX} chains of a router`);
      return [{ node, made: WEAKER }];
    }
    return this.namedIn(chain, 'middlewares', [...chains, node]);
  }
}

interface Router {
  readonly name: string;
  readonly node: SourceNode;
  readonly index: number;
  /** Whether the default TLS options ask clients for a certificate. */
  readonly defaultAsks: boolean;
  /** Receives the hosts of the rule. */
  readonly hosts: RouteHosts;
}

function routesOf(
  { name, node, index, defaultAsks, hosts }: Router,
  services: TraefikServices,
  middlewares: Middlewares,
): ImportedRoute[] {
  const listeners = node.has('entryPoints')
    ? (node.texts('entryPoints') ?? []).map(({ text }) => text).sort()
    : undefined;
  const asksForCertificate = settleListener(node, defaultAsks);
  const rule = node.text('rule') ?? '';
  const given = node.number('priority') ?? 0;
  const priority = [given === 0 ? rule.length : given, -index];
  const used = middlewares.namedIn(node, 'middlewares');
  const serviceName = node.text('service') ?? '';
  const service = services.of(bare(serviceName));
  if (used.some(({ made }) => made.replacesRouter === true)) {
    node.lost('answers with a redirect, which no route does here');
    return [];
  }
  if (service === undefined) {
    node.lost(`has the service "${serviceName}", which is not there or has no backend`);
    // Without its service, Traefik has no such router either.
    if (!services.isService(serviceName)) return [];
  }
  const matches = matchesOf(node, rule, priority);
  if (service !== undefined) for (const match of matches) hosts.add(match.hosts);
  const { parts, isWeaker: lacksPart } = policyOf(used, node);
  const isWeaker = lacksPart || asksForCertificate;
  if (isWeaker)
    node.changed(
      asksForCertificate && !lacksPart
        ? 'is not switched on, because its clients may need a certificate'
        : 'is not switched on, because a middleware could not be carried over in full',
      'a policy in its place, and then `activate` of its revisions',
    );
  const prefix = used.map(({ made }) => made.prefix ?? '').join('');
  const revision: Item = {
    ...(service?.preserveHost === true && { preserve_host: true }),
    ...(Object.keys(parts).length > 0 && { default_policy: parts }),
  };
  const strips = used.flatMap(({ made }) => made.strip ?? []);
  const backends = (service === undefined ? UNKNOWN_BACKENDS : revisionsOf(service)).map(
    ({ label, fields }) => ({
      label,
      fields: prefix === '' ? fields : { ...fields, backend_base_path: withPrefix(fields, prefix) },
    }),
  );
  const places = matches.filter(({ isLeftOut }) => !isLeftOut).length * backends.length;
  if (places > 1 && (parts['rate_limit'] !== undefined || parts['concurrency'] !== undefined))
    node.changed(`has limits that are counted separately at each of ${places} revisions (rules and servers)`);
  return matches.map(({ methods, patterns, hosts: asked, isLeftOut }) => ({
    label: name,
    methods,
    patterns: patterns.flatMap((pattern) => stripped(pattern, strips)),
    backends,
    revision,
    isCurrent: !isWeaker,
    policy: parts,
    hasHosts: asked.length > 0,
    listeners,
    isLeftOut: isLeftOut || service === undefined,
  }));
}

function withPrefix(fields: Item, prefix: string): string {
  const base = fields['backend_base_path'];
  return `${typeof base === 'string' ? base : ''}${prefix}`;
}

function asksByDefault(value: unknown): boolean {
  const options = ['tls', 'options', 'default'].reduce<unknown>(
    (at, name) => (isObject(at) ? at[name] : undefined),
    value,
  );
  return isObject(options) && (options['clientAuth'] ?? options['clientCA']) !== undefined;
}

/** @returns whether clients may need a certificate there, which this gateway would not require */
function settleListener(node: SourceNode, defaultAsks: boolean): boolean {
  if (node.has('entryPoints'))
    node.lost(
      'names listeners, and the gateway serves all routes on each',
      'a gateway of its own',
      'entryPoints',
    );
  const options = (node.value as Item)['tls'];
  const isNamed = isObject(options) && (options['options'] ?? 'default') !== 'default';
  const mayAsk = isNamed || (defaultAsks && isObject(options));
  if (node.has('tls')) node.lost('certificates are settings', 'GATEWAY_PROXY__TLS__CERT_FILE', 'tls');
  if (mayAsk)
    node.changed(
      'has TLS options that may ask clients for a certificate, which this gateway would not ask for',
      undefined,
      'tls',
    );
  node.noEffect('is about logs and metrics', 'observability');
  node.noEffect('selects the syntax of the rule, and both syntaxes are read', 'ruleSyntax');
  return mayAsk;
}

function policyOf(
  used: readonly { readonly node: SourceNode; readonly made: TranslatedMiddleware }[],
  router: SourceNode,
): { readonly parts: Item; readonly isWeaker: boolean } {
  let parts: Item = {};
  let isWeaker = false;
  let hasPrefix = false;
  for (const { node, made } of used) {
    const checked = checkedPolicy(made.parts, node);
    isWeaker ||= checked.isWeaker || made.isWeaker === true;
    for (const part of replacedParts(parts, checked.parts)) {
      node.changed(`replaces the \`${part}\` of a middleware before it`, 'only one of the two');
      isWeaker = true;
    }
    if (made.strip !== undefined && hasPrefix) {
      node.changed('comes after a middleware that adds a prefix, and is applied before it here');
      isWeaker = true;
    }
    hasPrefix ||= made.prefix !== undefined;
    parts = mergedParts(parts, checked.parts);
  }
  const together = checkedPolicy(parts, router);
  return { parts: together.parts, isWeaker: isWeaker || together.isWeaker };
}

/** The pattern itself, and its part below each prefix that is removed. */
function stripped(pattern: ImportedPattern, strips: readonly (readonly string[])[]): ImportedPattern[] {
  const found = strips.flatMap((prefix, index) => {
    const both = intersection([...prefix, '*'], pattern.segments);
    const isBelow = both !== undefined && prefix.every((segment, at) => both[at] === segment);
    if (!isBelow) return [];
    // Only the first fitting prefix is removed.
    return [
      {
        ...pattern,
        segments: both,
        drop: prefix.length,
        priority: [...pattern.priority, strips.length - index],
      },
    ];
  });
  const exact = strips.find((prefix) => isDeepStrictEqual([...prefix], [...pattern.segments]));
  if (exact !== undefined) return [{ ...pattern, drop: exact.length }];
  return [...found, { ...pattern, priority: [...pattern.priority, 0] }];
}
