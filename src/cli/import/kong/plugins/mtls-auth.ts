/**
 * `mtls-auth`: callers with client certificates. Kong stores trusted certificates in its database. Here they are
 * files, which the plan names and does not write: until they exist, such routes refuse every client. Kong finds a
 * consumer by an alternative name or the common name of the certificate; here each of these names becomes a rule
 * that names the caller.
 */
import { createHash } from 'node:crypto';
import type { Item } from '../../imported-route.ts';
import type { SourceNode } from '../../source.ts';
import type { KongConsumer, KongPlugin } from '../kong-document.ts';
import { isBoundAnonymous } from './auth.ts';
import type { PluginContext, TranslatedPlugin } from './plugin.ts';

const WITHOUT_EFFECT = [
  'allow_partial_chain',
  'authenticated_group_by',
  'send_ca_dn',
  'cache_ttl',
  'cert_cache_ttl',
  'http_timeout',
  'http_proxy_host',
  'http_proxy_port',
  'https_proxy_host',
  'https_proxy_port',
];
const CALLERS_MAX = 1_000;
const FOLDER = 'GATEWAY_PROXY__CLIENT_CAS';
/** Characters with a meaning in RFC 4514, and the star, which matches any text in a rule. */
const SPECIAL = /[,+"\\<>;=#*\p{Cc}]/u;
const DNS_NAME = /^(?:[A-Za-z0-9_-]+\.)+[A-Za-z0-9_-]+$/;

export function mtlsAuth({ config, node }: KongPlugin, context: PluginContext): TranslatedPlugin {
  const trusted = (config?.texts('ca_certificates') ?? []).map(({ text }) => text);
  if (config === undefined || trusted.length === 0) {
    node.lost('names no trusted certificates', '`auth` with `mtls`');
    return { parts: { auth: { auth_type: 'mtls' } }, isWeaker: true };
  }
  const ca = trustName(trusted);
  config.changed(
    `are the file ${ca}.crt in the folder of ${FOLDER} here, which you make of their "cert"`,
    undefined,
    'ca_certificates',
  );
  const isOptional = (config.text('anonymous') ?? '') !== '';
  if (isOptional)
    config.changed('is not a consumer here: the backend gets no identity', undefined, 'anonymous');
  const isOpen = config.boolean('skip_consumer_lookup') === true;
  const callers = isOpen ? undefined : callersOf(config, context);
  if ((config.text('default_consumer') ?? '') !== '')
    config.lost(
      'is not a caller: certificates without a consumer are refused',
      undefined,
      'default_consumer',
    );
  config.noEffect('follows from the certificate here, or is not needed', ...WITHOUT_EFFECT);
  const lists = revocationOf(config, ca);
  const auth: Item = {
    auth_type: 'mtls',
    ...(isOptional && { required: false }),
    mtls: { ca, ...(callers !== undefined && { callers }), ...lists },
  };
  const namesOneOfSeveral = trusted.length > 1 && !isOpen && context.consumers.some(namesAuthority);
  const isWeaker = isBoundAnonymous(config, context.consumers) || namesOneOfSeveral;
  if (callers?.length !== 0) return { parts: { auth }, ...(isWeaker && { isWeaker }) };
  // A policy without callers would accept every certificate.
  node.lost('has no consumer whose certificates it could accept', '`auth.mtls.callers`');
  return { parts: { auth: { auth_type: 'mtls' } }, isWeaker: true };
}

/** Whether a certificate of the consumer must come from one authority. */
function namesAuthority({ node }: KongConsumer): boolean {
  const credentials = node.items('mtls_auth_credentials');
  return credentials.some((credential) => authorityOf(credential) !== '');
}

/** The id of the authority that a credential names, as a text or as `{id: …}`; '' for none. */
function authorityOf(credential: SourceNode): string {
  const { ca_certificate: named } = credential.value as Item;
  const id =
    typeof named === 'string'
      ? credential.text('ca_certificate')
      : credential.child('ca_certificate')?.text('id');
  return id ?? '';
}

/** The name for the certificates of one plugin, which are one file. */
function trustName(ids: readonly string[]): string {
  const digest = createHash('sha256').update(ids.toSorted().join(' ')).digest('hex').slice(0, 12);
  return `kong-${digest}`;
}

function revocationOf(config: SourceNode, ca: string): Item {
  const mode = config.text('revocation_check_mode') ?? 'IGNORE_CA_ERROR';
  if (mode === 'SKIP') return {};
  config.changed(
    `reads revocation lists from the file ${ca}.crl here, and asks no server`,
    undefined,
    'revocation_check_mode',
  );
  return mode === 'STRICT' ? { revocation_lists: 'required' } : {};
}

function callersOf(config: SourceNode, { consumers, bound }: PluginContext): Item[] {
  const by = config.texts('consumer_by')?.map(({ text }) => text) ?? ['username', 'custom_id'];
  const callers: Item[] = [];
  let hasCommonNames = false;
  for (const consumer of consumers) {
    const { node, name } = consumer;
    const credentials = node.items('mtls_auth_credentials');
    const names = [
      ...credentials.flatMap((credential) => credential.text('subject_name') ?? []),
      ...by.flatMap((member) => node.text(member) ?? []),
    ];
    for (const credential of credentials) {
      if (authorityOf(credential) !== '')
        credential.changed('is not looked at: any of the trusted ones will do', undefined, 'ca_certificate');
      credential.noEffect('is an id of Kong', 'id', 'tags', 'created_at');
    }
    if (bound.has(consumer)) {
      node.changed('has plugins that do not apply to its certificates here, so they are refused');
      continue;
    }
    for (const each of new Set(names)) {
      if (SPECIAL.test(each) || each === '') {
        node.lost(`has the name "${each}", for which there is no rule`, '`auth.mtls.callers`');
        continue;
      }
      hasCommonNames = true;
      const from = each.includes('://') ? 'san_uri' : each.includes('@') ? 'san_email' : undefined;
      const place = from ?? (DNS_NAME.test(each) ? 'san_dns' : undefined);
      if (place !== undefined) callers.push({ from: place, value: each, name });
      callers.push({ from: 'subject', value: `CN=${each}`, name });
    }
  }
  if (hasCommonNames)
    config.changed(
      'finds a common name only in a subject that has nothing else; add rules for others to `callers`',
      undefined,
      'consumer_by',
    );
  if (callers.length > CALLERS_MAX)
    config.lost(`has more rules than ${CALLERS_MAX}: the consumers after them are refused`, undefined);
  return callers.slice(0, CALLERS_MAX);
}
