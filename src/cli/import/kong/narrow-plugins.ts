/**
 * Plugins that apply to a part of the requests of a record: where two records meet, such as a route for one consumer,
 * and to the consumers of a group. No policy can express that, so they are reported, and what they may have kept out is
 * not opened: the keys of such consumers, and such routes, are not switched on.
 *
 * Owns these plugins.
 */
import { isObject } from '../../../lib/is-object.ts';
import type { SourceNode } from '../source.ts';

/** Kinds of records that a plugin can name. */
export const OWNER_KINDS = ['service', 'route', 'consumer', 'consumer_group'] as const;

/** The names or ids of the records that a plugin names, by their kinds. */
export type PluginOwners = Readonly<Record<string, string>>;

interface NarrowPlugin {
  readonly name: string;
  readonly of: PluginOwners;
}

export class NarrowPlugins {
  readonly #plugins: NarrowPlugin[] = [];
  /** Names of groups by the name of a consumer that they list. */
  readonly #listed = new Map<string, string[]>();

  constructor(root: SourceNode) {
    for (const group of listIn(root.value, 'consumer_groups')) {
      const name = textIn(group, 'name') ?? '';
      for (const plugin of listIn(group, 'plugins')) this.#record(plugin, { consumer_group: name });
      for (const consumer of listIn(group, 'consumers')) {
        const member = textIn(consumer, 'username') ?? textIn(consumer, 'id') ?? '';
        this.#listed.set(member, [...(this.#listed.get(member) ?? []), name]);
      }
    }
  }

  /** Reports a plugin that several records share. */
  addShared(node: SourceNode, of: PluginOwners): void {
    const owners = Object.entries(of).map(([kind, name]) => `${kind} ${name}`);
    node.lost(
      `applies to ${owners.join(' and ')} together, which no policy does`,
      'the policy of an endpoint, or the limit of a key',
    );
    this.#record(node.value, of);
  }

  /** A plugin of a group, which is reported elsewhere. */
  addOfGroup(node: SourceNode, name: string): void {
    this.#record(node.value, { consumer_group: name });
  }

  /** Names of the plugins that apply to some requests of a consumer. */
  ofConsumer(node: SourceNode, name: string): string[] {
    const names = [name, textIn(node.value, 'id')];
    const groups = [
      ...listIn(node.value, 'groups').flatMap((group) => textIn(group, 'name') ?? []),
      ...names.flatMap((each) => this.#listed.get(each ?? '') ?? []),
    ];
    return this.#named(
      ({ consumer, consumer_group: group }) =>
        (consumer !== undefined && names.includes(consumer)) ||
        (group !== undefined && groups.includes(group)),
    );
  }

  /** Names of the plugins that apply to some requests of a route, of all consumers. */
  ofRoute(node: SourceNode, name: string): string[] {
    const names = [name, textIn(node.value, 'id')];
    return this.#named(
      ({ route, consumer, consumer_group: group }) =>
        route !== undefined && names.includes(route) && consumer === undefined && group === undefined,
    );
  }

  #named(isMeant: (of: PluginOwners) => boolean): string[] {
    return this.#plugins.filter(({ of }) => isMeant(of)).map(({ name }) => name);
  }

  #record(plugin: unknown, of: PluginOwners): void {
    const name = textIn(plugin, 'name');
    const isOff = isObject(plugin) && plugin['enabled'] === false;
    if (name !== undefined && !isOff) this.#plugins.push({ name, of });
  }
}

function listIn(value: unknown, member: string): readonly unknown[] {
  const list = isObject(value) && Object.hasOwn(value, member) ? value[member] : undefined;
  return Array.isArray(list) ? list : [];
}

function textIn(value: unknown, member: string): string | undefined {
  const text = isObject(value) && Object.hasOwn(value, member) ? value[member] : undefined;
  return typeof text === 'string' ? text : undefined;
}
