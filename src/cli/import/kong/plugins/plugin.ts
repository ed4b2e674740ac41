/** What the translation of one plugin knows and answers. */
import type { Item } from '../../imported-route.ts';
import type { AclScopes } from '../acl-scopes.ts';
import type { KongConsumer, KongPlugin } from '../kong-document.ts';

export interface PluginContext {
  readonly consumers: readonly KongConsumer[];
  readonly acl: AclScopes;
  /** How callers of the routes are known. */
  readonly authType: 'api_key' | 'jwt' | 'mtls' | undefined;
}

export interface TranslatedPlugin {
  /** Parts of a policy. */
  readonly parts: Item;
  /** The plugin protects, and what it became does not protect as much: its routes are not switched on. */
  readonly isWeaker?: true;
}

export type PluginTranslator = (plugin: KongPlugin, context: PluginContext) => TranslatedPlugin;

export const NOTHING: TranslatedPlugin = { parts: {} };
