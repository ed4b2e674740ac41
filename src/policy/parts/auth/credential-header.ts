/**
 * Names of request fields that cannot carry a credential (`auth.in`): those that claims must not be written to, and
 * those that already have a meaning for the gateway, a cache, the backend or explain. `Authorization` is the default
 * place.
 */
import { HeaderKind, headerKindOf } from '../../../http/heads/header-kind.ts';
import { foldedName } from '../../../lib/folded-name.ts';
import { isReservedHeader } from './jwt/jwt-rules.ts';

const AUTHORIZATION = 'authorization';

const MEANINGFUL: ReadonlySet<string> = new Set([
  'early-data',
  'link',
  'max-forwards',
  'pragma',
  'prefer',
  'priority',
  'range',
  'referer',
  'set-cookie',
  'upgrade-insecure-requests',
  'user-agent',
  'www-authenticate',
]);
const MEANINGFUL_PREFIXES = [
  'accept',
  'cache-',
  'content-',
  'if-',
  'proxy-',
  'x-http-method',
  'x-original-',
] as const;

export function isAuthorization(name: string): boolean {
  return name.toLowerCase() === AUTHORIZATION;
}

/** @param name a token of RFC 9110; compared as the most lenient reader would */
export function mayCarryCredential(name: string): boolean {
  if (isAuthorization(name)) return true;
  const normal = foldedName(name);
  if (headerKindOf(normal) !== HeaderKind.ordinary || isReservedHeader(name)) return false;
  if (MEANINGFUL.has(normal)) return false;
  return !MEANINGFUL_PREFIXES.some((prefix) => normal.startsWith(prefix));
}
