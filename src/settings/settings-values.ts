/**
 * The kinds of values that a setting can have: how the text of an environment variable is parsed, and the message
 * when that fails. Used only by settings-table.ts. Touches neither the file system nor the network.
 */
import { isIP } from 'node:net';
import type { ShareFacts } from './memory-shares.ts';

export type Parsed<T> = { readonly value: T } | { readonly expected: string };

/** One row of the table of settings. `T` includes `undefined` when the setting has no default. */
export interface Setting<T> {
  /** For the docs: the kind of value. */
  readonly type: string;
  readonly default: T;
  /** For the docs: the default in words, when it is not a constant. */
  readonly defaultText: string | undefined;
  /** The default, where other settings decide. */
  readonly defaultFor: ((facts: ShareFacts) => T) | undefined;
  readonly description: string;
  /** Its value is never shown, in any message. */
  readonly secret: boolean;
  /** Another variable, which is read when this one is not set. */
  readonly otherName: string | undefined;
  /** `text` is trimmed and not empty. */
  parse(text: string): Parsed<T>;
}

interface About<D> {
  readonly default: D;
  readonly defaultText?: string;
  readonly defaultFor?: (facts: ShareFacts) => D;
  readonly description: string;
  readonly secret?: boolean;
  readonly otherName?: string;
}

function setting<T, D>(type: string, about: About<D>, parse: (text: string) => Parsed<T>): Setting<T | D> {
  return {
    type,
    default: about.default,
    defaultText: about.defaultText,
    defaultFor: about.defaultFor,
    description: about.description,
    secret: about.secret ?? false,
    otherName: about.otherName,
    parse,
  };
}

export function boolean<D extends boolean | undefined>(about: About<D>): Setting<boolean | D> {
  return setting<boolean, D>('boolean', about, (text) => {
    const lower = text.toLowerCase();
    if (lower === 'true' || lower === '1') return { value: true };
    if (lower === 'false' || lower === '0') return { value: false };
    return { expected: 'true or false (or 1 or 0)' };
  });
}

/** A decimal integer from `min` to `max`, both included; no sign, no fraction, no exponent, no separators. */
export function integer<D extends number | undefined>(
  range: { readonly min: number; readonly max: number },
  about: About<D>,
): Setting<number | D> {
  const type = `integer, ${range.min} to ${range.max}`;
  return setting<number, D>(type, about, (text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
    return value >= range.min && value <= range.max ? { value } : { expected: `an ${type}` };
  });
}

/** @param aliases other accepted spellings, in lower case, which messages do not mention */
export function oneOf<const V extends string, const D extends NoInfer<V> | undefined>(
  values: readonly V[],
  about: About<D>,
  aliases: Readonly<Record<string, NoInfer<V>>> = {},
): Setting<V | D> {
  const type = values.join(', ').replace(/, (?=[^,]*$)/, ' or ');
  return setting<V, D>(type, about, (text) => {
    const lower = text.toLowerCase();
    const found = values.find((value) => value === lower) ?? new Map(Object.entries(aliases)).get(lower);
    return found === undefined ? { expected: type } : { value: found };
  });
}

/** Comma-separated; spaces around items do not matter, an empty item is an error. */
export function list<V extends string | number>(
  type: string,
  item: (text: string) => Parsed<V>,
  about: About<readonly V[]>,
): Setting<readonly V[]> {
  return setting<readonly V[], readonly V[]>(type, about, (text) => {
    const values: V[] = [];
    for (const part of text.split(',')) {
      const parsed = part.trim() === '' ? { expected: type } : item(part.trim());
      if ('expected' in parsed) return { expected: parsed.expected };
      if (!values.includes(parsed.value)) values.push(parsed.value);
    }
    return { value: Object.freeze(values) };
  });
}

/** A regular expression, or an object with the same `test`. */
interface Pattern {
  test(value: string): boolean;
}

/** Any text; `pattern` and `expected` narrow it. */
export function text<D extends string | undefined>(
  type: string,
  about: About<D> & { readonly pattern?: Pattern; readonly expected?: string },
): Setting<string | D> {
  return setting<string, D>(type, about, (value) =>
    about.pattern === undefined || about.pattern.test(value)
      ? { value }
      : { expected: about.expected ?? type },
  );
}

/** An address to listen on: an IP address, or a host name (RFC 1123 section 2.1). */
export function host<D extends string>(about: About<D>): Setting<string> {
  const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
  const hostname = new RegExp(`^(?=.{1,253}$)(?!.*\\.?\\d+$)${label}(?:\\.${label})*$`);
  return setting<string, string>('IP address or host name', about, (value) =>
    isIP(value) !== 0 || hostname.test(value)
      ? { value }
      : { expected: 'an IP address (IPv6 without brackets) or a host name, without a port' },
  );
}

/** An absolute URL with one of the given schemes (lower case, with the colon). */
export function url<D extends string | undefined>(
  schemes: readonly string[],
  about: About<D>,
): Setting<string | D> {
  const names = schemes.map((scheme) => `${scheme}//`).join(' or ');
  return setting<string, D>(`URL (${names})`, about, (value) => {
    const parsed = URL.parse(value);
    return parsed !== null && schemes.includes(parsed.protocol) && parsed.hostname !== ''
      ? { value }
      : { expected: `an absolute URL that starts with ${names}` };
  });
}

/** An address or a block, a host name, or `*.` followed by a host name, which stands for all names below it. */
export function destination(value: string): Parsed<string> {
  if ('value' in addressOrBlock(value)) return { value };
  const name = value.startsWith('*.') ? value.slice(2) : value;
  // Underscores are allowed, since service names in container networks have them; a last label of digits means an
  // address.
  const label = '[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?';
  const isName = new RegExp(`^${label}(?:\\.${label})*\\.?$`).test(name) && name.length <= 253;
  if (isName && !/(?:^|\.)(?:\d+|0[xX][0-9A-Fa-f]*)\.?$/.test(name)) return { value };
  return {
    expected:
      'IP addresses, CIDR blocks and host names separated by commas, such as 10.0.0.0/8,api.example.com,*.example.org',
  };
}

/** A peer of a listener: an address, a block, or `unix` for connections to its Unix socket. */
export function peer(value: string): Parsed<string> {
  if (value === 'unix') return { value };
  const parsed = addressOrBlock(value);
  return 'expected' in parsed ? { expected: `${parsed.expected}; or unix` } : parsed;
}

/** An IP address, or a block in CIDR notation (RFC 4632 section 3.1, RFC 4291 section 2.3). */
function addressOrBlock(value: string): Parsed<string> {
  const [address = '', bits, ...rest] = value.split('/');
  const family = address.includes('%') ? 0 : isIP(address);
  const bitsMax = family === 4 ? 32 : 128;
  const bitsFit = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax);
  if (family !== 0 && bitsFit && rest.length === 0) return { value };
  return {
    expected: 'IP addresses or CIDR blocks separated by commas, such as 10.0.0.0/8,192.0.2.7,2001:db8::/32',
  };
}

/**
 * The path of a Unix socket. `sun_path` has 108 bytes; some are left for the temporary name during its
 * creation.
 */
export const SOCKET_PATH: Pattern = {
  test: (value) => /^\/[^\0]+$/.test(value) && Buffer.byteLength(value) <= 96,
};
export const SOCKET_MODE: Pattern = /^0?[0-7]{3}$/;
