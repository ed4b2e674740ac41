/** `key-auth`, `jwt` and `acl`: who may call. */
import { createPublicKey } from 'node:crypto';
import type { Item } from '../../imported-route.ts';
import type { SourceNode } from '../../source.ts';
import type { KongPlugin } from '../kong-document.ts';
import { NOTHING, type PluginContext, type TranslatedPlugin } from './plugin.ts';

const KEY_NAME_DEFAULT = 'apikey';
const SECRET_CHARS_MIN = 32;

export function keyAuth({ config, node }: KongPlugin, { consumers }: PluginContext): TranslatedPlugin {
  const [first, ...others] = config?.texts('key_names') ?? [];
  for (const { node: other } of others)
    other.lost('is a second place of the key: a route reads it in one header');
  const inHeader = config?.boolean('key_in_header') ?? true;
  const inQuery = config?.boolean('key_in_query');
  const inBody = config?.boolean('key_in_body');
  if (!inHeader) config?.changed('is true here: the key comes in a header', undefined, 'key_in_header');
  if (inQuery !== false) {
    const which = inQuery === undefined ? undefined : 'key_in_query';
    (config ?? node).changed('takes no key from the query', 'a header', which);
  }
  if (inBody === true) config?.lost('is not a place for a key', 'a header', 'key_in_body');
  const realm = config?.text('realm');
  if (realm !== undefined) config?.changed('is the slug of the app', undefined, 'realm');
  config?.noEffect('preflights need no key', 'run_on_preflight');
  const name = first?.text ?? KEY_NAME_DEFAULT;
  return {
    parts: {
      auth: {
        auth_type: 'api_key',
        ...(name.toLowerCase() !== 'authorization' && { in: name }),
        ...anonymous(config),
        ...(config?.boolean('hide_credentials') !== true && { forward_credentials: true }),
      },
    },
    ...(isBoundAnonymous(config, consumers) && { isWeaker: true as const }),
  };
}

function anonymous(config: SourceNode | undefined): Item {
  const consumer = config?.text('anonymous');
  if (consumer === undefined || consumer === '') return {};
  config?.changed('is not a consumer here: the backend gets no identity', undefined, 'anonymous');
  return { required: false };
}

/** Whether the consumer for requests without credentials has plugins that refuse or limit such requests. */
export function isBoundAnonymous(
  config: SourceNode | undefined,
  consumers: PluginContext['consumers'],
): boolean {
  const anonymousName = config?.text('anonymous') ?? '';
  if (anonymousName === '') return false;
  const found = consumers.find(
    ({ node, name }) => name === anonymousName || node.text('id') === anonymousName,
  );
  if (found === undefined || found.plugins.length === 0) return false;
  config?.changed(
    'is a consumer with plugins, which do not apply to requests without credentials here',
    undefined,
    'anonymous',
  );
  return true;
}

const HMAC = /^HS(?:256|384|512)$/;
const ALGORITHM = /^(?:(?:HS|RS|PS|ES)(?:256|384|512)|EdDSA)$/;

export function jwt({ config, node }: KongPlugin, { consumers, bound }: PluginContext): TranslatedPlugin {
  const optional = anonymous(config);
  const claim = config?.text('key_claim_name') ?? 'iss';
  const verified = config?.texts('claims_to_verify') ?? [];
  config?.noEffect('preflights need no token', 'run_on_preflight');
  const isLifeBounded = (config?.number('maximum_expiration') ?? 0) !== 0;
  if (isLifeBounded)
    config?.lost('no part of a policy bounds how long tokens live', undefined, 'maximum_expiration');
  for (const list of ['uri_param_names', 'cookie_names']) {
    for (const item of config?.texts(list) ?? []) item.node.lost('is not a place for a token', 'a header');
  }
  const [header, ...headers] = config?.texts('header_names') ?? [];
  for (const other of headers) other.node.lost('is a second place of the token: a route reads one header');
  if (config?.boolean('secret_is_base64') === true) {
    config.lost('a secret is a text here', 'keys of the kind `jwks`', 'secret_is_base64');
    return closed(optional);
  }
  const place = header?.text.toLowerCase();
  const keys = keysOf(node, claim, consumers);
  const hasBound = consumers.some((consumer) => bound.has(consumer) && consumer.jwtSecrets.length > 0);
  if (hasBound) node.changed('has a consumer with plugins, which do not apply to its tokens here');
  const requiredClaims = verified.map(({ text }) => text).filter((text) => text === 'exp' || text === 'nbf');
  return {
    parts: {
      auth: {
        auth_type: 'jwt',
        ...(place !== undefined && place !== 'authorization' && { in: header?.text }),
        ...optional,
        ...(requiredClaims.length > 0 && { required_claims: requiredClaims }),
        ...(keys !== undefined && { jwt: keys }),
      },
    },
    ...((keys === undefined || isLifeBounded || hasBound || isBoundAnonymous(config, consumers)) && {
      isWeaker: true as const,
    }),
  };
}

function closed(optional: Item): TranslatedPlugin {
  return { parts: { auth: { auth_type: 'jwt', ...optional } }, isWeaker: true };
}

/** The keys of one issuer: a single secret, or public keys. */
function keysOf(plugin: SourceNode, claim: string, consumers: PluginContext['consumers']): Item | undefined {
  const nearest = '`auth.jwt` with the issuer and `jwks_uri` of an identity provider';
  const credentials = consumers.flatMap(({ jwtSecrets }) => jwtSecrets);
  const read = credentials.map((node) => ({
    node,
    issuer: node.text('key'),
    algorithm: node.text('algorithm') ?? 'HS256',
    secret: node.text('secret'),
    publicKey: node.text('rsa_public_key'),
  }));
  const [first] = read;
  const refuse = (node: SourceNode, reason: string): undefined => {
    node.lost(reason, nearest);
    for (const credential of credentials)
      credential.lost('belongs to a plugin that could not be carried over', nearest);
    return undefined;
  };
  if (claim !== 'iss') return refuse(plugin, `finds the key of a token by its claim "${claim}"`);
  if (first === undefined) return refuse(plugin, 'has no credential in the document');
  if (read.some(({ issuer }) => issuer !== first.issuer || issuer === undefined)) {
    return refuse(plugin, 'has several issuers, and a policy has only one');
  }
  const algorithms = [...new Set(read.map(({ algorithm }) => algorithm))];
  const unknown = read.find(({ algorithm }) => !ALGORITHM.test(algorithm));
  if (unknown !== undefined) return refuse(unknown.node, 'has an algorithm that this gateway does not have');
  if (HMAC.test(first.algorithm)) {
    if (read.length > 1) return refuse(plugin, 'has several secrets, and a policy has only one');
    if ((first.secret ?? '').length < SECRET_CHARS_MIN)
      return refuse(first.node, `has a secret of less than ${SECRET_CHARS_MIN} characters`);
    return { issuer: first.issuer, secret: first.secret, algorithms };
  }
  const keys = read.flatMap(({ node, publicKey, algorithm }) => {
    const key = publicKey === undefined ? undefined : jwkOf(publicKey);
    if (key === undefined) node.lost('has no public key that can be read', nearest);
    return key === undefined ? [] : [{ ...key, alg: algorithm }];
  });
  if (keys.length === 0) return refuse(plugin, 'has no key that can be kept');
  return { issuer: first.issuer, jwks: { keys }, algorithms };
}

function jwkOf(pem: string): Item | undefined {
  try {
    return { ...createPublicKey(pem).export({ format: 'jwk' }) };
  } catch {
    return undefined;
  }
}

export function acl(
  { config, node }: KongPlugin,
  { acl: scopes, authType }: PluginContext,
): TranslatedPlugin {
  const allow = [...(config?.texts('allow') ?? []), ...(config?.texts('whitelist') ?? [])];
  const deny = [...(config?.texts('deny') ?? []), ...(config?.texts('blacklist') ?? [])];
  config?.noEffect('backends get scopes in X-Headgate-Scopes', 'hide_groups_header');
  for (const other of ['include_consumer_groups', 'always_use_authenticated_groups']) {
    if (config?.boolean(other) === true) config.lost('there are no groups here', undefined, other);
  }
  if (authType !== 'api_key') {
    node.lost(
      'groups are scopes of keys here, and these routes accept no keys',
      '`required_scopes`, with the scopes of tokens',
    );
    return { ...NOTHING, isWeaker: true };
  }
  const required = [
    ...(allow.length > 0 ? [scopes.anyOf(allow)] : []),
    ...(deny.length > 0 ? [scopes.noneOf(deny)] : []),
  ];
  const isMade = allow.length > 1 || deny.length > 0;
  if (isMade) {
    node.changed(
      `is the scope ${required.join(' and ')}: a key that is made later needs it as well`,
      'one scope for each permission',
    );
  }
  return required.length === 0 ? NOTHING : { parts: { required_scopes: required } };
}
