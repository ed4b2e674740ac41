/**
 * Reads a declarative document of Kong (formats 1.1, 2.1 and 3.0, as decK writes and Kong loads them): services,
 * routes, upstreams, consumers and plugins, nested or at the top with references by name or id. Does not translate
 * them.
 */
import { isObject } from '../../../lib/is-object.ts';
import { openSource, type SourceNode } from '../source.ts';
import { NarrowPlugins, OWNER_KINDS, type PluginOwners } from './narrow-plugins.ts';

export interface KongPlugin {
  readonly name: string;
  readonly node: SourceNode;
  readonly config: SourceNode | undefined;
}

export interface KongRoute {
  readonly node: SourceNode;
  readonly name: string;
  readonly plugins: readonly KongPlugin[];
}

export interface KongService {
  readonly node: SourceNode;
  readonly name: string;
  readonly routes: readonly KongRoute[];
  readonly plugins: readonly KongPlugin[];
}

export interface KongUpstream {
  readonly node: SourceNode;
  readonly targets: readonly SourceNode[];
}

export interface KongConsumer {
  readonly node: SourceNode;
  readonly name: string;
  readonly plugins: readonly KongPlugin[];
  readonly keys: readonly SourceNode[];
  readonly jwtSecrets: readonly SourceNode[];
  readonly acls: readonly SourceNode[];
}

export interface KongDocument {
  readonly root: SourceNode;
  /** Whether paths without `~` may be regular expressions. */
  readonly regexWithoutTilde: boolean;
  readonly services: readonly KongService[];
  /** Routes without a service. */
  readonly routesAlone: readonly KongRoute[];
  readonly upstreams: ReadonlyMap<string, KongUpstream>;
  readonly consumers: readonly KongConsumer[];
  readonly globalPlugins: readonly KongPlugin[];
  /** Plugins that are in none of the above. */
  readonly narrowPlugins: NarrowPlugins;
}

const FORMATS = ['1.1', '2.1', '3.0'];
/** Members that do not affect traffic. */
const IDENTITY = ['id', 'created_at', 'updated_at', 'ws_id', 'tags'];
const IDENTITY_REASON = 'names, dates or marks a record of the other gateway';

/** @returns the document, or why it is invalid */
export function readKong(value: unknown): KongDocument | { readonly problem: string } {
  if (!isObject(value)) return { problem: 'it is not an object' };
  const root = openSource(value);
  const format = root.text('_format_version');
  if (format === undefined || !FORMATS.includes(format)) {
    return {
      problem: `its _format_version is ${format === undefined ? 'missing' : `"${format}"`}; expected ${FORMATS.map((known) => `"${known}"`).join(', ')}`,
    };
  }
  root.noEffect('says how the document is read', '_transform', '_comment', '_ignore');
  root.noEffect('names a workspace of the other gateway', '_workspace', '_konnect');
  const info = root.child('_info');
  info?.noEffect('says which records the document has', 'select_tags', 'default_lookup_tags');
  if (info?.has('defaults') === true)
    info.lost(
      'are values that the document leaves out, and they are not filled in',
      'write them out',
      'defaults',
    );
  const references = new References(root);
  const consumers = references.consumers();
  const services = references.services();
  return {
    root,
    regexWithoutTilde: format !== '3.0',
    services,
    routesAlone: references.routesAlone(),
    upstreams: upstreamsOf(root),
    consumers,
    globalPlugins: references.globalPlugins(),
    narrowPlugins: references.narrow,
  };
}

/** Settles the members that every record has. */
function settleRecord(node: SourceNode): void {
  node.noEffect(IDENTITY_REASON, ...IDENTITY);
}

/** The name, or the fallback. */
function nameOf(node: SourceNode, fallback: string): string {
  return node.text('name') ?? node.text('username') ?? node.text('custom_id') ?? fallback;
}

class References {
  readonly #root: SourceNode;
  /** Top-level items by the record that they refer to. */
  readonly #routes: Map<string, SourceNode[]>;
  readonly #plugins: { readonly node: SourceNode; readonly of: PluginOwners }[];
  readonly narrow: NarrowPlugins;
  /** By `<kind> <name>` of the record that a plugin applies to. */
  readonly #pluginsByOwner = new Map<string, SourceNode[]>();
  readonly #used = new Set<SourceNode>();

  constructor(root: SourceNode) {
    this.#root = root;
    this.#routes = byReference(root.items('routes'), 'service');
    this.narrow = new NarrowPlugins(root);
    this.#plugins = root.items('plugins').map((node) => ({ node, of: ownersOf(node) }));
    for (const { node, of } of this.#plugins) {
      const [owner, ...others] = Object.entries(of);
      if (others.length > 0) {
        this.narrow.addShared(node, of);
        this.#used.add(node);
      } else if (owner !== undefined) {
        push(this.#pluginsByOwner, owner.join(' '), node);
        if (owner[0] === 'consumer_group') this.narrow.addOfGroup(node, owner[1]);
      }
    }
  }

  services(): KongService[] {
    const services = this.#root.items('services').map((node, index) => {
      settleRecord(node);
      const name = nameOf(node, `service-${index + 1}`);
      node.noEffect('is not needed: versions are named by their paths', 'name');
      const own = [...node.items('routes'), ...this.#take(this.#routes, node, name)];
      return {
        node,
        name,
        routes: own.map((route, number) => this.#route(route, `${name}-${number + 1}`)),
        plugins: this.#pluginsOf('service', node, name),
      };
    });
    return services;
  }

  /** Routes without a service, whose requests only plugins answer; once the services are known. */
  routesAlone(): KongRoute[] {
    const alone = [...this.#routes].flatMap(([name, nodes]) =>
      nodes
        .filter((node) => !this.#used.has(node))
        .map((node, index) => {
          node.lost(name === '' ? 'has no service' : `refers to the service "${name}", which is not there`);
          return this.#route(node, `route-${index + 1}`);
        }),
    );
    this.#reportUnused();
    return alone;
  }

  #reportUnused(): void {
    for (const [owner, nodes] of this.#pluginsByOwner) {
      for (const node of nodes) {
        if (this.#used.has(node)) continue;
        const what = owner.startsWith('consumer_group ')
          ? 'applies to a group of consumers, which Headgate does not have'
          : `applies to the ${owner}, which is not there`;
        node.lost(what, 'the `rate_limit` of each key');
      }
    }
  }

  consumers(): KongConsumer[] {
    const lists = ['keyauth_credentials', 'jwt_secrets', 'acls'] as const;
    const [keys, jwts, acls] = lists.map((list) => byReference(this.#root.items(list), 'consumer'));
    const consumers = this.#root.items('consumers').map((node, index) => {
      settleRecord(node);
      const name = nameOf(node, `consumer-${index + 1}`);
      node.text('custom_id');
      const records = (list: string, top: Map<string, SourceNode[]> | undefined): SourceNode[] => {
        const found = [...node.items(list), ...this.#take(top ?? new Map(), node, name)];
        for (const record of found) settleRecord(record);
        return found;
      };
      return {
        node,
        name,
        plugins: this.#pluginsOf('consumer', node, name),
        keys: [...records('keyauth_credentials', keys), ...records('key-auth', undefined)],
        jwtSecrets: [...records('jwt_secrets', jwts), ...records('jwt', undefined)],
        acls: records('acls', acls),
      };
    });
    for (const top of [keys, jwts, acls]) {
      for (const [name, nodes] of top ?? []) {
        for (const node of nodes) {
          if (!this.#used.has(node)) node.lost(`refers to the consumer "${name}", which is not there`);
        }
      }
    }
    return consumers;
  }

  globalPlugins(): KongPlugin[] {
    return this.#plugins
      .filter(({ of, node }) => Object.keys(of).length === 0 && !this.#used.has(node))
      .flatMap(({ node }) => this.#plugin(node) ?? []);
  }

  /** Takes the top-level items that refer to a record by name or id. */
  #take(items: Map<string, SourceNode[]>, node: SourceNode, name: string): SourceNode[] {
    const id = node.text('id');
    const found = [...(items.get(name) ?? []), ...(id === undefined ? [] : (items.get(id) ?? []))];
    return found.filter((item) => {
      const isNew = !this.#used.has(item);
      this.#used.add(item);
      return isNew;
    });
  }

  #route(node: SourceNode, fallback: string): KongRoute {
    settleRecord(node);
    const name = nameOf(node, fallback);
    return { node, name, plugins: this.#pluginsOf('route', node, name) };
  }

  #pluginsOf(kind: string, node: SourceNode, name: string): KongPlugin[] {
    const id = node.text('id');
    const top = [
      ...(this.#pluginsByOwner.get(`${kind} ${name}`) ?? []),
      ...(id === undefined || id === name ? [] : (this.#pluginsByOwner.get(`${kind} ${id}`) ?? [])),
    ];
    for (const plugin of top) this.#used.add(plugin);
    const nested = node.items('plugins').filter((plugin) => {
      const { [kind]: _own, ...others } = ownersOf(plugin);
      if (Object.keys(others).length === 0) return true;
      this.narrow.addShared(plugin, { [kind]: name, ...others });
      return false;
    });
    return [...nested, ...top].flatMap((plugin) => this.#plugin(plugin) ?? []);
  }

  #plugin(node: SourceNode): KongPlugin | undefined {
    settleRecord(node);
    const name = node.text('name');
    node.noEffect('names a record of the other gateway', 'instance_name');
    if (name === undefined) {
      node.lost('has no name');
      return undefined;
    }
    if (node.boolean('enabled') === false) {
      node.ledger.add({
        kind: 'no_effect',
        pointer: node.pointer,
        place: node.place,
        reason: 'is switched off',
      });
      return undefined;
    }
    node.noEffect('names protocols, and this gateway speaks HTTP', 'protocols', 'run_on');
    return { name, node, config: this.#configOf(node) };
  }

  /** The configuration of the plugin, or the shared one that it names. */
  #configOf(node: SourceNode): SourceNode | undefined {
    const shared = node.text('_config');
    if (shared === undefined) return node.child('config');
    const found = this.#root.child('_plugin_configs')?.child(shared);
    if (found === undefined || node.has('config')) {
      node.lost(
        found === undefined
          ? `names the configuration "${shared}", which is not there`
          : 'is combined with a shared configuration, and only that was read',
        'write the whole configuration at the plugin',
        found === undefined ? '_config' : 'config',
      );
    }
    return found ?? node.child('config');
  }
}

function upstreamsOf(root: SourceNode): Map<string, KongUpstream> {
  const upstreams = new Map<string, KongUpstream>();
  const top = byReference(root.items('targets'), 'upstream');
  const taken = new Set<SourceNode>();
  for (const node of root.items('upstreams')) {
    settleRecord(node);
    const name = node.text('name');
    const id = node.text('id');
    if (name === undefined) {
      node.lost('has no name');
      continue;
    }
    const own = [...(top.get(name) ?? []), ...(id === undefined ? [] : (top.get(id) ?? []))];
    for (const target of own) taken.add(target);
    const targets = [...node.items('targets'), ...own];
    for (const target of targets) settleRecord(target);
    upstreams.set(name, { node, targets });
  }
  for (const [name, targets] of top) {
    for (const target of targets) {
      if (!taken.has(target)) target.lost(`refers to the upstream "${name}", which is not there`);
    }
  }
  return upstreams;
}

function byReference(nodes: readonly SourceNode[], kind: string): Map<string, SourceNode[]> {
  const found = new Map<string, SourceNode[]>();
  for (const node of nodes) push(found, referenceOf(node, kind) ?? '', node);
  return found;
}

function ownersOf(plugin: SourceNode): PluginOwners {
  return Object.fromEntries(
    OWNER_KINDS.flatMap((kind) => {
      const name = referenceOf(plugin, kind);
      return name === undefined ? [] : [[kind, name] as const];
    }),
  );
}

/** `service: name`, `service: {name: …}` or `service: {id: …}`. */
function referenceOf(node: SourceNode, kind: string): string | undefined {
  if (!node.has(kind)) return undefined;
  const text = typeof (node.value as Readonly<Record<string, unknown>>)[kind];
  if (text === 'string') return node.text(kind);
  const reference = node.child(kind);
  if (reference === undefined) return undefined;
  const name = reference.text('name') ?? reference.text('username');
  if (name !== undefined) reference.noEffect(IDENTITY_REASON, ...IDENTITY);
  return name ?? reference.text('id');
}

function push(map: Map<string, SourceNode[]>, key: string, node: SourceNode): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [node]);
  else list.push(node);
}
