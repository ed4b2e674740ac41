/** `ip-restriction` and `cors`. */
import { networkAddress, readBlock } from '../../../../http/address.ts';
import { parseOrigin } from '../../../../policy/parts/cors/origin.ts';
import type { Item } from '../../imported-route.ts';
import type { SourceNode, TextItem } from '../../source.ts';
import type { KongPlugin } from '../kong-document.ts';
import { NOTHING, type TranslatedPlugin } from './plugin.ts';

export function ipRestriction({ config, node }: KongPlugin): TranslatedPlugin {
  const lists = { allow: ['allow', 'whitelist'], deny: ['deny', 'blacklist'] };
  const read = (names: readonly string[]): (string | undefined)[] =>
    names.flatMap((name) => config?.texts(name) ?? []).map(blockOf);
  const unique = (blocks: readonly (string | undefined)[]): string[] => [
    ...new Set(blocks.flatMap((block) => block ?? [])),
  ];
  const [allowed, denied] = [read(lists.allow), read(lists.deny)];
  const isWeaker = denied.includes(undefined);
  const allow = unique(allowed);
  const deny = unique(denied);
  const status = config?.number('status');
  if (status !== undefined && status !== 403) config?.changed('is 403 here', undefined, 'status');
  if (config?.text('message') !== undefined)
    config.lost('answers of the gateway are problem documents', undefined, 'message');
  if ((allow.length === 0 && allowed.length > 0) || allow.length + deny.length === 0) {
    node.lost('has no address that can be read');
    return { ...NOTHING, isWeaker: true };
  }
  const access: Item = { ...(allow.length > 0 && { allow }), ...(deny.length > 0 && { deny }) };
  return { parts: { ip_access: access }, ...(isWeaker && { isWeaker: true as const }) };
}

/** A block in the form that `ip_access` requires: no bits after the prefix. */
export function blockOf({ text, node }: TextItem): string | undefined {
  const block = readBlock(text);
  if (block === undefined) {
    node.lost('is neither an address nor a block of addresses');
    return undefined;
  }
  const whole = block.address.includes(':') ? 128 : 32;
  return block.bits === whole ? block.address : `${networkAddress(block)}/${block.bits}`;
}

export function cors({ config, node }: KongPlugin): TranslatedPlugin {
  const given = config?.texts('origins');
  const origins =
    given === undefined || given.length === 0
      ? ['*']
      : [...new Set(given.flatMap((item) => originsOf(item)))];
  const allowed = origins.includes('*') ? ['*'] : origins;
  const methods = tokensOf(config, 'methods');
  const headers = tokensOf(config, 'headers');
  const exposed = tokensOf(config, 'exposed_headers');
  const credentials = config?.boolean('credentials') === true;
  const maxAge = config?.number('max_age');
  if (config?.boolean('preflight_continue') === true)
    config.lost('preflights are answered by the gateway', undefined, 'preflight_continue');
  if (config?.boolean('private_network') === true)
    config.lost('no part of `cors` grants it', undefined, 'private_network');
  config?.noEffect('has no effect without preflight_continue', 'allow_origin_absent');
  if (allowed.length === 0) {
    node.lost('has no origin that can be kept', 'a list of origins');
    return NOTHING;
  }
  const all = allowed[0] === '*';
  if (credentials && all) config?.lost('is never granted to all origins', 'a list of origins', 'credentials');
  return {
    parts: {
      cors: {
        allowed_origins: allowed,
        ...(methods !== undefined && { allowed_methods: methods }),
        ...(headers !== undefined && { allowed_headers: headers }),
        ...(exposed !== undefined && { expose_headers: exposed }),
        ...(credentials && !all && { allow_credentials: true }),
        ...(maxAge !== undefined && { max_age_secs: Math.min(31_536_000, Math.max(0, Math.floor(maxAge))) }),
      },
    },
  };
}

function tokensOf(config: SourceNode | undefined, name: string): string[] | undefined {
  const items = config?.texts(name);
  if (items === undefined || items.length === 0) return undefined;
  const tokens = items.flatMap(({ text, node }) => {
    if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text)) return [text];
    node.lost('is not the name of a header or method');
    return [];
  });
  return tokens.includes('*') ? undefined : [...new Set(tokens)];
}

/** Regular expressions of the usual kinds: any name below a domain, with an optional `s` in `https`. */
function originsOf({ text, node }: TextItem): string[] {
  if (text === '*' || text === '.*') return ['*'];
  const plain = parseOrigin(text, true);
  if (plain !== undefined) return [text];
  const [, scheme, below, host, port] =
    /^\^?(https?\??):\/\/(\.\*|\.\+|\[[^\]]+\][+*]|\(\.\*\)|\(\.\+\))?(\\?\.?[A-Za-z0-9-]+(?:(?:\\\.?|\.)[A-Za-z0-9-]+)*)(?::(\d+))?\$?$/.exec(
      text,
    ) ?? [];
  if (scheme === undefined || host === undefined) {
    node.lost('is a regular expression that a list of origins cannot express', 'each origin by itself');
    return [];
  }
  const name = host.replaceAll('\\', '').replace(/^\./, '');
  const authority = `${below === undefined ? '' : '*.'}${name}${port === undefined ? '' : `:${port}`}`;
  const schemes = scheme.endsWith('?') ? ['http', 'https'] : [scheme];
  const origins = schemes.map((one) => `${one}://${authority}`);
  if (origins.every((origin) => parseOrigin(origin, true) !== undefined)) {
    node.changed(`is ${origins.join(' and ')}`);
    return origins;
  }
  node.lost('is not an origin', 'each origin by itself');
  return [];
}
