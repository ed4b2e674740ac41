/**
 * Builds a declared app from a document of Kong. All services become versions of one app, because a key belongs to
 * one app and Kong's consumers may call every service.
 */
import { counted } from '../../../lib/text/counted.ts';
import { UNKNOWN_BACKENDS, type ImportedRoute, type Item } from '../imported-route.ts';
import { withoutOpenings } from '../left-out-routes.ts';
import { RouteHosts } from '../route-hosts.ts';
import { versionsOf } from '../route-tree.ts';
import type { ImportedApp } from '../import-run.ts';
import { AclScopes } from './acl-scopes.ts';
import { backendsOf, type ServiceBackends } from './kong-backends.ts';
import { readKong, type KongDocument, type KongRoute, type KongService } from './kong-document.ts';
import { keysOf } from './kong-keys.ts';
import { beyond, KongPolicies, type RoutePolicy } from './kong-policy.ts';
import { matchOf } from './kong-routes.ts';
import { isHarmless } from './plugins/plugins.ts';

export interface KongOptions {
  readonly slug: string;
  readonly gatewayPath: string | undefined;
  readonly withKeyValues: boolean;
}

/** @returns the app and the findings, or why the document cannot be read */
export function importKong(value: unknown, options: KongOptions): ImportedApp | { readonly problem: string } {
  const document = readKong(value);
  if ('problem' in document) return document;
  const acl = new AclScopes();
  const policies = new KongPolicies(document, acl);
  const global = policies.policyOf([document.globalPlugins]);
  const hosts = new RouteHosts();
  const routes = routesOf(document, policies, global, hosts);
  const appHosts = hosts.settle();
  settleRest(document);
  const keys = keysOf(document, acl, options.withKeyValues);
  const versions = versionsOf(withoutOpenings(routes, appHosts));
  return {
    app: {
      gateway_path: options.gatewayPath ?? `/${options.slug}`,
      ...(appHosts.length > 0 && { hosts: appHosts }),
      routing_mode: 'managed_endpoint',
      ...(Object.keys(global.parts).length > 0 && { default_policy: global.parts }),
      versions,
      ...(Object.keys(keys).length > 0 && { keys }),
    },
    summary: summaryOf(document),
    findings: document.root.ledger.conclude(document.root),
  };
}

function routesOf(
  document: KongDocument,
  policies: KongPolicies,
  global: RoutePolicy,
  hosts: RouteHosts,
): ImportedRoute[] {
  const routes: ImportedRoute[] = [];
  const counted = new LimitPlaces();
  let index = 0;
  for (const service of document.services) {
    const backends = backendsOf(service, document);
    for (const route of service.routes) {
      index += 1;
      const levels = [document.globalPlugins, service.plugins, route.plugins];
      const policy = policies.policyOf(levels);
      if (backends === undefined) {
        route.node.lost('has a service that could not be carried over');
        const isEnabled = service.node.boolean('enabled') ?? true;
        routes.push(...withoutBackends(route, index, isEnabled, { document, policy, global }));
        continue;
      }
      const [imported, ...leftOut] = routeOf(route, index, { document, backends, policy, global, hosts });
      if (imported === undefined) continue;
      routes.push(imported, ...leftOut);
      counted.add(service, route, imported);
    }
    if (service.routes.length === 0)
      service.node.lost('has no route, so nothing reaches it', 'an endpoint with its backend');
  }
  for (const route of document.routesAlone) {
    index += 1;
    const policy = policies.policyOf([document.globalPlugins, route.plugins]);
    routes.push(...withoutBackends(route, index, true, { document, policy, global }));
  }
  counted.report();
  return routes;
}

interface RouteWork {
  readonly document: KongDocument;
  readonly backends: ServiceBackends;
  readonly policy: RoutePolicy;
  readonly global: RoutePolicy;
  /** Receives the hosts of the route. */
  readonly hosts: RouteHosts;
}

/** A route that is left out, because it has no backend that is known. */
function withoutBackends(
  route: KongRoute,
  index: number,
  isEnabled: boolean,
  work: Omit<RouteWork, 'backends' | 'hosts'>,
): ImportedRoute[] {
  const backends = { backends: UNKNOWN_BACKENDS, timeouts: undefined, retries: undefined, isEnabled };
  const [carried, leftOut] = routeOf(route, index, { ...work, backends, hosts: new RouteHosts() });
  if (carried === undefined || leftOut === undefined) return [];
  return [{ ...leftOut, patterns: [...carried.patterns, ...leftOut.patterns] }];
}

/** What is carried over of a route, and what is not. */
function routeOf(
  route: KongRoute,
  index: number,
  { document, backends, policy, global, hosts }: RouteWork,
): ImportedRoute[] {
  const hasCors = policy.parts['cors'] !== undefined;
  const match = matchOf(route, index, document.regexWithoutTilde, hasCors);
  if (match === undefined) return [];
  hosts.add(match.hosts);
  const { timeouts, retries, isEnabled } = backends;
  const parts: Item = {
    ...policy.parts,
    ...(match.allowedMethods !== undefined && { allowed_methods: match.allowedMethods }),
    ...(timeouts !== undefined && { timeouts }),
    ...(retries !== undefined && { retries }),
  };
  const own = beyond(parts, global.parts);
  const narrow = document.narrowPlugins.ofRoute(route.node, route.name).filter((name) => !isHarmless(name));
  const weaker = new Set([...policy.weaker.map(({ name }) => name), ...narrow]);
  if (weaker.size > 0) {
    route.node.changed(
      `is not switched on, because ${[...weaker].join(', ')} could not be carried over in full`,
      'a policy in its place, and then `activate` of its revisions',
    );
  }
  const [carried, leftOut] = [false, true].map((isLeftOut) =>
    match.patterns.filter((pattern) => (pattern.isLeftOut ?? false) === isLeftOut),
  );
  const imported: ImportedRoute = {
    label: route.name,
    methods: match.methods,
    patterns: carried ?? [],
    backends: backends.backends,
    revision: {
      ...(match.preserveHost && { preserve_host: true }),
      ...(own !== undefined && { default_policy: own }),
    },
    isCurrent: isEnabled && weaker.size === 0,
    hasHosts: match.hosts.length > 0,
    listeners: match.listeners,
    // A service that is switched off takes no requests from others.
    ...(isEnabled && { policy: { ...global.parts, ...parts } }),
  };
  return [imported, { ...imported, patterns: leftOut ?? [], isLeftOut: true }];
}

/**
 * Counts where limits are. A limit is counted per level that has it: a plugin on several revisions is counted in
 * each.
 */
class LimitPlaces {
  readonly #places = new Map<KongService['plugins'][number], number>();

  add(service: KongService, route: KongRoute, { patterns, backends }: ImportedRoute): void {
    const places = new Set(patterns.map(({ node }) => node)).size * backends.length;
    const own = route.plugins.filter(isLimit);
    const inForce = own.length > 0 ? own : service.plugins.filter(isLimit);
    for (const plugin of inForce) this.#places.set(plugin, (this.#places.get(plugin) ?? 0) + places);
  }

  report(): void {
    for (const [plugin, places] of this.#places) {
      if (places > 1)
        plugin.node.changed(
          `is counted separately at each of ${places} revisions (paths and targets)`,
          'the limit in the policy of the app',
        );
    }
  }
}

function isLimit({ name }: { readonly name: string }): boolean {
  return name.startsWith('rate-limiting');
}

const OTHER_RECORDS: Readonly<Record<string, readonly [string, string?]>> = {
  certificates: ['certificates are settings here', 'GATEWAY_PROXY__TLS__CERT_FILE'],
  snis: ['certificates are settings here', 'GATEWAY_PROXY__TLS__CERT_FILE'],
  vaults: ['no value is read from a vault', 'secrets in the document, stored encrypted'],
  consumer_groups: ['keys have no groups', '`rate_limit` and `scopes` of keys'],
  rbac_roles: ['admin tokens decide who manages the gateway', 'roles of admin tokens'],
  keys: ['keys of tokens are in policies', '`auth.jwt.jwks`'],
  key_sets: ['keys of tokens are in policies', '`auth.jwt.jwks`'],
  filter_chains: ['filters do not run here'],
  licenses: ['Headgate needs no licence'],
  basicauth_credentials: ['callers have API keys, JWTs or certificates', 'an API key'],
  hmacauth_credentials: ['callers have API keys, JWTs or certificates', 'an API key'],
  oauth2_credentials: ['callers have API keys, JWTs or certificates', 'an API key'],
  mtls_auth_credentials: ['they are read where consumers have them', '`auth.mtls.callers`'],
};

function settleRest({ root, upstreams, services }: KongDocument): void {
  for (const [name, [reason, nearest]] of Object.entries(OTHER_RECORDS)) {
    if (root.has(name)) root.lost(reason, nearest, name);
  }
  const used = new Set(services.flatMap(({ node }) => node.text('host') ?? []));
  for (const { text } of services.flatMap(({ node }) => hostOf(node))) used.add(text);
  for (const [name, { node }] of upstreams) {
    if (!used.has(name)) node.lost('is the host of no service');
    else if (node.has('host_header'))
      node.lost('backends get their own name', '`preserve_host` of a revision', 'host_header');
  }
}

function hostOf(node: KongService['node']): { readonly text: string }[] {
  const url = node.text('url');
  const parsed = url === undefined ? null : URL.parse(url);
  return parsed === null ? [] : [{ text: parsed.hostname }];
}

function summaryOf({ services, consumers, upstreams }: KongDocument): string {
  const routes = services.reduce((sum, service) => sum + service.routes.length, 0);
  const counts = [
    counted(services.length, 'service'),
    counted(routes, 'route'),
    counted(upstreams.size, 'upstream'),
    counted(consumers.length, 'consumer'),
  ];
  return `${counts.join(', ')}.`;
}
