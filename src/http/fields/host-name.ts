/**
 * Names of hosts as the configuration writes them and as requests ask for them (RFC 9110 section 7.2, RFC 5890). An
 * entry is a name, or `*.` and a name, which stands for every name that has one label or more in place of the star.
 * Both are compared in one form: lower case, A-labels, without a port and without the dot at the end.
 *
 * Addresses are no names: they have no certificate that a wildcard could cover, and clients write one in many ways.
 */
import { domainToASCII, domainToUnicode } from 'node:url';

/** Limit of a name in A-labels, without the dot at the end (RFC 1035 section 2.3.4). */
const HOST_NAME_LENGTH_MAX = 253;
/** Labels of a name, at most. */
export const HOST_LABELS_MAX = 127;
const WILDCARD = '*.';
const DOT = 0x2e;
const OPEN_BRACKET = 0x5b;

/**
 * The host of a request in the form in which entries are stored.
 * @param authority a host with an optional port that `isHostAndPort` (host.ts) accepts, or '' for a request without one
 * @returns the name, or an address, which no entry equals
 */
export function canonicalHost(authority: string): string {
  if (authority.charCodeAt(0) === OPEN_BRACKET) return authority;
  const colon = authority.lastIndexOf(':');
  let end = colon < 0 ? authority.length : colon;
  if (end > 1 && authority.charCodeAt(end - 1) === DOT) end -= 1;
  return (end === authority.length ? authority : authority.slice(0, end)).toLowerCase();
}

/** Whether an entry is a wildcard. */
export function isWildcardEntry(entry: string): boolean {
  return entry.startsWith(WILDCARD);
}

/** The name of a wildcard entry without its star; of another entry, the entry. */
export function nameOfEntry(entry: string): string {
  return isWildcardEntry(entry) ? entry.slice(WILDCARD.length) : entry;
}

/** `com.example.*` for `*.example.com`, and back: all names below a name begin with it. */
export function reversedLabels(entry: string): string {
  return entry.split('.').reverse().join('.');
}

/**
 * The entry that serves a host: its own name, or else the longest wildcard; undefined if no entry fits.
 * @param host result of `canonicalHost`
 */
export function entryFor(entries: readonly string[], host: string): string | undefined {
  let longest: string | undefined;
  for (const entry of entries) {
    if (entry === host) return entry;
    if (!isWildcardEntry(entry) || !host.endsWith(entry.slice(1)) || host.length < entry.length) continue;
    if (longest === undefined || entry.length > longest.length) longest = entry;
  }
  return longest;
}

/**
 * Reads an entry as an operator writes it; names may be in any script and case.
 * @returns the stored form, or an error that follows the name of the field, such as `must not have a port`
 */
export function parseHostEntry(text: string): { readonly entry: string } | { readonly error: string } {
  const isWildcard = isWildcardEntry(text);
  const written = isWildcard ? text.slice(WILDCARD.length) : text;
  const problem = spellingError(written);
  if (problem !== undefined) return { error: problem };
  const name = asciiName(written.replace(/[.\u3002\uff0e\uff61]$/u, ''));
  if (name === undefined) return { error: 'is not a name that IDNA allows' };
  const wrong = nameError(name);
  return wrong === undefined ? { entry: isWildcard ? WILDCARD + name : name } : { error: wrong };
}

/** An error for a text that is certainly not a name, saying what it is. */
function spellingError(text: string): string | undefined {
  if (text === '') return 'must be a name, such as "api.example.com" or "*.example.com"';
  if (text.includes('*')) return 'may have one "*", as its whole first label, such as "*.example.com"';
  if (text.includes('://')) return 'must be a name without a scheme';
  if (text.startsWith('[') || (text.match(/:/g)?.length ?? 0) > 1) return 'must be a name, not an address';
  if (text.includes(':')) return 'must not have a port: a host is matched at every port';
  if (text.includes('@')) return 'must not have user information';
  if (text.includes('/')) return 'must not have a path; `gateway_path` has that';
  // Only what is outside of ASCII is left to IDNA, which would decode and drop other characters.
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u007f]/.test(text.replaceAll(/[A-Za-z0-9._-]/g, '')))
    return 'may contain letters, digits, "-", "_" and "."';
  return undefined;
}

const A_LABEL = /(^|\.)xn--/;

/** In lower case and A-labels; undefined when it is not a name by UTS #46. */
function asciiName(text: string): string | undefined {
  const lower = text.toLowerCase();
  // oxlint-disable-next-line no-control-regex
  if (/^[\u0000-\u007f]*$/.test(lower) && !A_LABEL.test(lower)) return lower;
  const name = domainToASCII(lower);
  // Some characters are mapped to ASCII characters that no name has, such as U+1FEF to "`".
  if (!/^[a-z0-9._-]+$/.test(name)) return undefined;
  // An A-label that stands for nothing stays as it is.
  return A_LABEL.test(domainToUnicode(name)) ? undefined : name;
}

function nameError(name: string): string | undefined {
  if (name.length > HOST_NAME_LENGTH_MAX) return `must have at most ${HOST_NAME_LENGTH_MAX} characters`;
  const labels = name.split('.');
  for (const label of labels) {
    if (label === '') return 'must not have an empty label';
    if (label.length > 63)
      return `has the label "${label.slice(0, 20)}…", and labels have at most 63 characters`;
    if (label.startsWith('-') || label.endsWith('-'))
      return `has the label "${label}", which must not begin or end with "-"`;
  }
  // Readers of addresses take every host whose last label is a number for one (WHATWG URL, "ends in a number").
  return /^([0-9]+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '') ? 'must be a name, not an address' : undefined;
}
