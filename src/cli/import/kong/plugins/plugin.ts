/** What the translation of one plugin receives and returns. */
import type { Item } from '../../imported-route.ts';
import type { AclScopes } from '../acl-scopes.ts';
import type { KongConsumer, KongPlugin } from '../kong-document.ts';

export interface PluginContext {
  readonly consumers: readonly KongConsumer[];
  /** Those with plugins that keep requests out: only keys can have such a plugin, and only a limit. */
  readonly bound: ReadonlySet<KongConsumer>;
  readonly acl: AclScopes;
  /** How the routes authenticate callers. */
  readonly authType: 'api_key' | 'jwt' | 'mtls' | undefined;
}

export interface TranslatedPlugin {
  /** Parts of the policy. */
  readonly parts: Item;
  /** The plugin protects, and its translation protects less: its routes are not activated. */
  readonly isWeaker?: true;
}

export type PluginTranslator = (plugin: KongPlugin, context: PluginContext) => TranslatedPlugin;

export const NOTHING: TranslatedPlugin = { parts: {} };
