/** Turns Kong's consumers into API keys: one for each credential, with the groups of the consumer as scopes. */
import { importedTokenError } from '../../../model/imported-token.ts';
import { tokenHash } from '../../../model/token.ts';
import type { Item } from '../imported-route.ts';
import type { SourceNode } from '../source.ts';
import type { AclScopes } from './acl-scopes.ts';
import type { KongConsumer, KongDocument } from './kong-document.ts';
import { keyLimit } from './plugins/limits.ts';
import { isHarmless } from './plugins/plugins.ts';
import type { NarrowPlugins } from './narrow-plugins.ts';

const OTHER_CREDENTIALS: Readonly<Record<string, string>> = {
  basicauth_credentials: 'is a password, and callers have API keys, JWTs or certificates here',
  hmacauth_credentials: 'is a key of signatures, and callers have API keys, JWTs or certificates here',
  oauth2_credentials: 'is a client of an authorization server, which a gateway is not here',
  groups: 'is a group of consumers, which Headgate does not have',
};
const NAME_CHARS_MAX = 190;

/** @param withValues also import the values of keys */
export function keysOf(
  { consumers, narrowPlugins }: Pick<KongDocument, 'consumers' | 'narrowPlugins'>,
  acl: AclScopes,
  withValues: boolean,
): Record<string, Item> {
  const keys: Record<string, Item> = {};
  const values = new Set<string>();
  for (const consumer of consumers) {
    const common = commonOf(consumer, acl, narrowPlugins);
    for (const credential of consumer.keys) {
      const value = valueOf(credential, values, withValues);
      keys[labelIn(keys, consumer.name)] = {
        ...common,
        ...(value !== undefined && { token_sha256: tokenHash(value) }),
      };
      if (credential.has('ttl'))
        credential.lost('is not an expiry that a key can have', '`expires_at` of the key', 'ttl');
    }
    if (consumer.keys.length === 0 && consumer.acls.length > 0)
      consumer.node.lost('has no key that could have its groups as scopes', 'an API key', 'acls');
  }
  return keys;
}

function commonOf(consumer: KongConsumer, acl: AclScopes, narrowPlugins: NarrowPlugins): Item {
  const { node, name: consumerName, acls, plugins, jwtSecrets } = consumer;
  const groups = acls.flatMap((record) => record.text('group') ?? []);
  const scopes = acl.scopesOf(groups);
  if (scopes === undefined) node.lost('has more groups than a key has scopes', undefined, 'acls');
  if (node.has('username') && node.has('custom_id'))
    node.lost('is not sent to backends: they get the name of the key', undefined, 'custom_id');
  for (const [list, reason] of Object.entries(OTHER_CREDENTIALS)) {
    for (const record of node.items(list)) record.lost(reason, 'an API key');
  }
  for (const record of node.items('mtls_auth_credentials')) {
    if (!record.ledger.isSettled(`${record.pointer}/subject_name`))
      record.lost('is a credential that no plugin asks for', '`auth.mtls.callers`');
  }
  for (const record of jwtSecrets) {
    if (!record.ledger.isSettled(`${record.pointer}/key`))
      record.lost('is a credential that no plugin asks for', '`auth.jwt`');
  }
  let limit: Item | undefined;
  let isWeaker = !narrowPlugins.ofConsumer(node, consumerName).every(isHarmless);
  for (const plugin of plugins) {
    if (plugin.name === 'rate-limiting' && limit === undefined && consumer.keys.length > 0) {
      limit = keyLimit(plugin, { consumers: [], bound: new Set(), acl, authType: 'api_key' });
      isWeaker ||= limit === undefined || plugin.node.hasUnread;
    } else {
      isWeaker ||= !isHarmless(plugin.name);
      plugin.node.lost(
        'applies to one consumer, and a limit is the only policy that a key can have',
        '`rate_limit` of the key',
      );
    }
  }
  if (isWeaker && consumer.keys.length > 0)
    node.changed('has keys that are not switched on, because its plugins could not be carried over in full');
  return {
    ...(isWeaker && { is_active: false }),
    ...(scopes !== undefined && scopes.length > 0 && { scopes }),
    ...(limit !== undefined && { rate_limit: limit }),
  };
}

function valueOf(credential: SourceNode, values: Set<string>, withValues: boolean): string | undefined {
  const value = credential.text('key');
  if (value === undefined) return undefined;
  if (!withValues) {
    credential.lost('is not carried over: the key gets a new value', '--with-key-values', 'key');
    return undefined;
  }
  if (values.has(value)) {
    credential.lost('is the value of another key as well: this key gets a new one', undefined, 'key');
    return undefined;
  }
  const problem = importedTokenError(value);
  if (problem !== undefined) {
    credential.lost(`cannot be the value of a key, which ${problem}: it gets a new one`, undefined, 'key');
    return undefined;
  }
  values.add(value);
  return value;
}

/** Keys are named like their consumer, and numbered when it has several. */
function labelIn(keys: Readonly<Record<string, Item>>, name: string): string {
  const base = name.replaceAll(/[\u0000-\u001f\u007f]/g, '-').slice(0, NAME_CHARS_MAX);
  const label = base === '' || base === '__proto__' ? 'key' : base;
  if (!Object.hasOwn(keys, label)) return label;
  let number = 2;
  while (Object.hasOwn(keys, `${label} ${number}`)) number += 1;
  return `${label} ${number}`;
}
