/**
 * Lets recorded requests authenticate without their credentials: each recorded credential is replaced by a
 * placeholder, which the directory of keys and the verifiers of tokens here recognise. A key is looked up
 * in the configuration that is tried; a JWT that was verified counts as verified, and is only compared with issuer
 * and audience. If no policy had required a credential when it was recorded, its validity is unknown (`wasGuessed`).
 */
import type { StoredApiKey } from '../../model/resources.ts';
import { API_KEY_PREFIX, createToken, SECRET_BYTES, tokenDigest } from '../../model/token.ts';
import { presentedKey, type PresentedKey } from '../../keys/presented-key.ts';
import type { KeyDirectory } from '../../policy/dependencies.ts';
import type { ClientTls } from '../../policy/stage.ts';
import type { TrustDirectory } from '../../x509/trust-store.ts';
import { tokenStart } from '../../policy/parts/auth/bearer.ts';
import { callerOf, checkClaims } from '../../policy/parts/auth/jwt/jwt-claims.ts';
import type { JwtVerification } from '../../policy/parts/auth/jwt/jwt-settings.ts';
import type { Identity, JwtVerifiers } from '../../policy/parts/auth/jwt/jwt-verifier.ts';
import type { Credential, VerifiedToken } from '../traffic/traffic-record.ts';

/**
 * It is not recorded whether a TLS request had a certificate, so one is assumed. One object per request, because
 * policies cache their decision on it.
 */
export function recordedTls(): ClientTls {
  return { serverName: '', askedFor: { has: () => true }, certificates: [Buffer.alloc(0)] };
}

export type FindKeyById = (id: string) => StoredApiKey | undefined;

export class RecordedCallers implements KeyDirectory, JwtVerifiers {
  /** Keys change with every configuration that is tried. */
  generation = 0;
  /** A policy required a credential of which only the field is known. Reset by the reader. */
  wasGuessed = false;
  /** Certificates are not recorded. */
  readonly trust: TrustDirectory = {
    find: () => {
      this.wasGuessed = true;
      return undefined;
    },
    generation: 0,
    overdueCrls: 'refuse',
    noteUse: () => undefined,
  };
  #findKey: FindKeyById = () => undefined;
  #isInForce = true;
  /** Settings in force that were asked about a refused token. */
  readonly #refusing = new Set<string>();
  readonly #byDigest = new Map<string, Credential>();
  readonly #tokens = new Map<string, string>();

  /** From now on, the configuration in force is tried, with these keys. */
  askInForce(findKey: FindKeyById): void {
    this.#isInForce = true;
    this.#useKeys(findKey);
  }

  /** From now on, the planned configuration is tried, with these keys. */
  askPlanned(findKey: FindKeyById): void {
    this.#isInForce = false;
    this.#useKeys(findKey);
  }

  #useKeys(findKey: FindKeyById): void {
    this.#findKey = findKey;
    this.generation += 1;
  }

  /** The value of a field that had this credential. */
  fieldValue(name: string, credential: Credential): string {
    if (credential.kind === 'foreign') return 'Basic bm9uZTpub25l';
    const token = this.#tokenOf(credential);
    return name === 'authorization' ? `Bearer ${token}` : token;
  }

  findPresentedKey(digest: string): PresentedKey | undefined {
    const credential = this.#byDigest.get(digest);
    if (credential?.kind === 'unread') this.wasGuessed = true;
    const key = credential?.kind === 'key' ? this.#findKey(credential.id) : undefined;
    return key === undefined ? undefined : presentedKey(key, false);
  }

  verifierFor(verification: JwtVerification): ReturnType<JwtVerifiers['verifierFor']> {
    return { identify: (authorization) => this.#identify(authorization, verification) };
  }

  #identify(authorization: string, verification: JwtVerification): Identity {
    const token = authorization.slice(tokenStart(authorization));
    const credential = this.#byDigest.get(tokenDigest(token));
    if (verification.keys === undefined) return 'no_keys';
    if (credential?.kind === 'jwt') return identityOf(credential.token, verification);
    if (credential !== undefined && this.#mayBeValid(credential, verification)) this.wasGuessed = true;
    return 'token_not_compact';
  }

  /** A refused token is refused again by unchanged settings. An API key is not a JWT. */
  #mayBeValid(credential: Credential, verification: JwtVerification): boolean {
    if (credential.kind !== 'refused_jwt')
      return credential.kind === 'unread' || (credential.kind === 'bearer' && !credential.isOwn);
    const settings = JSON.stringify(verification);
    if (this.#isInForce) this.#refusing.add(settings);
    return !this.#refusing.has(settings);
  }

  #tokenOf(credential: Credential): string {
    const name = JSON.stringify(credential);
    let token = this.#tokens.get(name);
    if (token !== undefined) return token;
    token = placeholderToken(credential, this.#tokens.size);
    this.#tokens.set(name, token);
    this.#byDigest.set(tokenDigest(token), credential);
    return token;
  }
}

function identityOf(
  { sub, scopes, iss, aud, claims }: VerifiedToken,
  verification: JwtVerification,
): Identity {
  // Only names are recorded of claims: which ones are there decides, not what they say.
  const present = Object.fromEntries(claims.map((name): [string, unknown] => [name, '']));
  const all = {
    ...present,
    exp: undefined,
    nbf: undefined,
    iat: undefined,
    iss,
    aud,
    scope: scopes.join(' '),
    sub,
  };
  const validity = checkClaims(all, verification);
  return typeof validity === 'string' ? validity : callerOf(all, verification);
}

/** A text in the form of a key if the recorded credential has that form, or may have it. */
function placeholderToken(credential: Credential, index: number): string {
  const { kind } = credential;
  if (kind === 'jwt' || kind === 'refused_jwt' || (kind === 'bearer' && !credential.isOwn))
    return `recorded-credential-number-${index}`;
  const secret = Buffer.alloc(SECRET_BYTES);
  secret.writeUInt32BE(index);
  return createToken(API_KEY_PREFIX, secret);
}
