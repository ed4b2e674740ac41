/**
 * The settings for checking a JWT: a policy's `auth.jwt` over the defaults from `GATEWAY_JWT__*`, field by field. Keys
 * have one source: the policy's if it sets any, otherwise the settings'. Algorithms are inherited only together with
 * the keys, and only those of the keys' kind are kept (RFC 8725 sections 3.1 and 3.2).
 */
import { ASYMMETRIC_ALGORITHMS } from '../../../../model/auth/jwt-algorithms.ts';
import { verifyingMembers } from './jwks-keys.ts';
import { isSymmetric } from './jwt-rules.ts';
import type { JwtSettings } from '../schema.ts';
import type { JwtDefaults } from '../../../../model/auth/jwt-defaults.ts';

type JwtKeys =
  | { readonly kind: 'secret'; readonly secret: string }
  | { readonly kind: 'jwks'; readonly keys: readonly Readonly<Record<string, unknown>>[] }
  | { readonly kind: 'jwks_uri'; readonly uri: string };

export interface JwtVerification {
  /** undefined: none configured, every token is refused. */
  readonly keys: JwtKeys | undefined;
  readonly algorithms: readonly string[];
  /** undefined: any issuer. */
  readonly issuer: string | undefined;
  /** Empty: any audience. */
  readonly audiences: readonly string[];
  readonly leewayMs: number;
  /** Claim name and the header that carries it to the upstream. */
  readonly claimHeaders: readonly (readonly [claim: string, header: string])[];
}

/** The symmetric algorithms of a secret must be configured; the default is the first. */
const SYMMETRIC = ['HS256'] as const;

export function resolveJwt(settings: JwtSettings | undefined, defaults: JwtDefaults): JwtVerification {
  const own = ownKeys(settings);
  const keys = own ?? defaultKeys(defaults);
  const inherited = own === undefined && defaults.algorithms.length > 0 ? defaults.algorithms : undefined;
  const usesSecret = keys?.kind === 'secret';
  const algorithms = settings?.algorithms ?? inherited ?? (usesSecret ? SYMMETRIC : ASYMMETRIC_ALGORITHMS);
  return Object.freeze({
    keys,
    algorithms: algorithms.filter((algorithm) => isSymmetric(algorithm) === usesSecret),
    issuer: settings?.issuer ?? defaults.issuer,
    audiences: settings?.audiences ?? defaults.audiences,
    leewayMs: (settings?.leeway_secs ?? defaults.leewaySecs) * 1000,
    claimHeaders: Object.entries(settings?.claims_to_headers ?? {}),
  });
}

function ownKeys(settings: JwtSettings | undefined): JwtKeys | undefined {
  // Certificates and other members would stay in memory for as long as a token that was verified.
  if (settings?.jwks !== undefined) return { kind: 'jwks', keys: settings.jwks.keys.map(verifyingMembers) };
  if (settings?.jwks_uri !== undefined) return { kind: 'jwks_uri', uri: settings.jwks_uri };
  if (settings?.secret !== undefined) return { kind: 'secret', secret: settings.secret };
  return undefined;
}

function defaultKeys(defaults: JwtDefaults): JwtKeys | undefined {
  if (defaults.jwksUri !== undefined) return { kind: 'jwks_uri', uri: defaults.jwksUri };
  if (defaults.secret !== undefined) return { kind: 'secret', secret: defaults.secret };
  return undefined;
}
