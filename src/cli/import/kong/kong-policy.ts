/**
 * Turns plugins into policies. Of several plugins with the same name the most specific one applies: that of the
 * route, then of the service, then the global one. A policy is built from the plugins that apply to a route, without
 * the parts that the app's policy already has.
 */
import { isDeepStrictEqual } from 'node:util';
import { checkedPolicy } from '../checked-policy.ts';
import { mergedParts, replacedParts } from '../policy-parts.ts';
import type { Item } from '../imported-route.ts';
import type { AclScopes } from './acl-scopes.ts';
import type { KongConsumer, KongDocument, KongPlugin } from './kong-document.ts';
import { AUTH_PLUGINS, isHarmless, translatePlugin } from './plugins/plugins.ts';
import type { PluginContext, TranslatedPlugin } from './plugins/plugin.ts';

export interface RoutePolicy {
  readonly parts: Item;
  /** Plugins that protect and could not be imported in full. */
  readonly weaker: readonly KongPlugin[];
}

const AUTH_TYPES: Readonly<Record<string, PluginContext['authType']>> = {
  'key-auth': 'api_key',
  'key-auth-enc': 'api_key',
  jwt: 'jwt',
  'mtls-auth': 'mtls',
};

/** Levels from the widest to the most specific. */
export type PluginLevels = readonly (readonly KongPlugin[])[];

export class KongPolicies {
  readonly #consumers: readonly KongConsumer[];
  readonly #bound: ReadonlySet<KongConsumer>;
  readonly #acl: AclScopes;
  readonly #known = new Map<string, TranslatedPlugin>();
  readonly #policies = new Map<string, RoutePolicy>();

  constructor(
    { consumers, narrowPlugins }: Pick<KongDocument, 'consumers' | 'narrowPlugins'>,
    acl: AclScopes,
  ) {
    this.#consumers = consumers;
    const isBound = ({ node, name, plugins }: KongConsumer): boolean =>
      ![...plugins.map((plugin) => plugin.name), ...narrowPlugins.ofConsumer(node, name)].every(isHarmless);
    this.#bound = new Set(consumers.filter(isBound));
    this.#acl = acl;
  }

  policyOf(levels: PluginLevels): RoutePolicy {
    const plugins = effective(levels);
    const key = plugins.map(({ node }) => node.pointer).join(' ');
    const known = this.#policies.get(key) ?? this.#made(plugins);
    this.#policies.set(key, known);
    return known;
  }

  #made(plugins: readonly KongPlugin[]): RoutePolicy {
    const [auth, ...others] = plugins.filter(({ name }) => AUTH_PLUGINS.includes(name));
    const weaker: KongPlugin[] = [];
    for (const other of others) {
      other.node.lost('is a second way to authenticate, and a route has only one', 'a route for each way');
      weaker.push(other);
    }
    const context: PluginContext = {
      consumers: this.#consumers,
      bound: this.#bound,
      acl: this.#acl,
      authType: auth && AUTH_TYPES[auth.name],
    };
    let parts: Item = {};
    for (const plugin of plugins) {
      if (others.includes(plugin)) continue;
      const translated = this.#translate(plugin, context);
      if (translated.isWeaker === true) weaker.push(plugin);
      const { parts: valid, isWeaker } = checkedPolicy(translated.parts, plugin.node);
      if (isWeaker) weaker.push(plugin);
      for (const part of replacedParts(parts, valid)) {
        plugin.node.changed(`replaces the \`${part}\` of a plugin before it`, 'only one of the two');
        weaker.push(plugin);
      }
      parts = mergedParts(parts, valid);
    }
    // Parts of several plugins may conflict.
    const last = plugins.at(-1);
    if (last === undefined) return { parts, weaker };
    const together = checkedPolicy(parts, last.node);
    if (together.isWeaker) weaker.push(last);
    return { parts: together.parts, weaker };
  }

  #translate(plugin: KongPlugin, context: PluginContext): TranslatedPlugin {
    const key = `${context.authType ?? ''} ${plugin.node.pointer}`;
    const known = this.#known.get(key) ?? translatePlugin(plugin, context);
    this.#known.set(key, known);
    return known;
  }
}

/** The parts that a more specific level must set. */
export function beyond(parts: Item, wider: Item): Item | undefined {
  const own = Object.fromEntries(
    Object.entries(parts).filter(([name, value]) => !isDeepStrictEqual(value, wider[name])),
  );
  return Object.keys(own).length === 0 ? undefined : own;
}

function effective(levels: PluginLevels): KongPlugin[] {
  const byName = new Map<string, KongPlugin>();
  for (const level of levels) {
    const seen = new Set<string>();
    for (const plugin of level) {
      if (seen.has(plugin.name)) plugin.node.lost('is given twice at one place');
      else byName.set(plugin.name, plugin);
      seen.add(plugin.name);
    }
  }
  return [...byName.values()];
}
