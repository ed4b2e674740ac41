/**
 * Headgate as a client of an OpenID provider (OpenID Connect Core 1.0, authorization code flow with PKCE, RFC 7636).
 * The package does the checks of the answer: issuer, audience, nonce, times, and the signature of the ID token. It is
 * loaded at the first sign-in, so that gateways without a provider never load it.
 */
import type { Configuration } from 'openid-client';
import type { Clock } from '../../../lib/clock.ts';
import type { AdminRole } from '../../../model/resources.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { ClientProof } from './client-proof.ts';
import { FLOW_SECS, type Flow } from './flow-cookie.ts';

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly name: string;
  /** undefined: the host that the browser asked for is used. */
  readonly redirectUrl: string | undefined;
  readonly scopes: readonly string[];
  readonly groupsClaim: string;
  readonly roles: readonly { readonly group: string; readonly role: AdminRole }[];
}

export interface Person {
  readonly subject: string;
  readonly name: string;
  readonly groups: readonly string[];
}

const TIMEOUT_SECS = 5;
const NAME_CHARS_MAX = 200;
const RANKS: readonly AdminRole[] = ['admin', 'editor', 'viewer'];

/** The groups of a person that have a role, each once: a provider may send any number. */
export function groupsWithRole({ roles }: OidcSettings, groups: readonly string[]): string[] {
  const held = new Set(groups);
  return [...new Set(roles.map(({ group }) => group))].filter((group) => held.has(group));
}

/** The highest role of the groups; undefined: none has one. */
export function roleOfGroups({ roles }: OidcSettings, groups: readonly string[]): AdminRole | undefined {
  const found = roles.filter(({ group }) => groups.includes(group)).map(({ role }) => role);
  return RANKS.find((role) => found.includes(role));
}

export class OidcClient {
  readonly #settings: OidcSettings;
  readonly #clock: Clock;
  readonly #proof = new ClientProof();
  #configuration: Promise<Configuration> | undefined;

  constructor(settings: OidcSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    // Before the first sign-in needs it, because an upgrade of the package may have removed the file by then.
    void import('openid-client').catch(() => undefined);
  }

  /** Where the browser goes, and what it must return. Throws when the provider does not answer correctly. */
  async start(redirectUri: string, returnTo: string): Promise<{ readonly url: string; readonly flow: Flow }> {
    const oidc = await import('openid-client');
    const configuration = await this.#discovered();
    const flow = {
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      verifier: oidc.randomPKCECodeVerifier(),
      returnTo,
      endsAtMs: this.#clock.nowMs() + FLOW_SECS * 1_000,
    };
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.#settings.scopes.join(' '),
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(flow.verifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, flow };
  }

  /**
   * The person who has signed in. Throws when the provider does not answer as expected, or refuses the sign-in.
   * @param url to which the provider has sent the browser
   */
  async finish(url: URL, { state, nonce, verifier }: Flow): Promise<Person> {
    const oidc = await import('openid-client');
    // The package asks for the keys of a configuration once a minute at most, and until then would refuse every person
    // whose token has a newer key.
    this.#configuration = undefined;
    const configuration = await this.#discovered();
    const tokens = await this.#proof.run(() =>
      oidc.authorizationCodeGrant(configuration, url, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      }),
    );
    const claims: Readonly<Record<string, unknown>> = { ...tokens.claims() };
    const subject = String(claims['sub']);
    const { groupsClaim } = this.#settings;
    const all =
      claims[groupsClaim] !== undefined || configuration.serverMetadata().userinfo_endpoint === undefined
        ? claims
        : { ...claims, ...(await oidc.fetchUserInfo(configuration, tokens.access_token, subject)) };
    return { subject, name: nameOf(all, subject), groups: groupsOf(all[groupsClaim]) };
  }

  /** Once for all sign-ins that begin until one ends; again after a failure. */
  #discovered(): Promise<Configuration> {
    this.#configuration ??= this.#discover().catch((error: unknown) => {
      this.#configuration = undefined;
      throw error;
    });
    return this.#configuration;
  }

  async #discover(): Promise<Configuration> {
    const oidc = await import('openid-client');
    const { issuer, clientId, clientSecret } = this.#settings;
    const insecure = issuer.startsWith('http:') ? [oidc.allowInsecureRequests] : [];
    return oidc.discovery(new URL(issuer), clientId, undefined, this.#proof.auth(oidc, clientSecret), {
      [oidc.customFetch]: boundedFetch,
      execute: [...insecure, oidc.enableNonRepudiationChecks],
      timeout: TIMEOUT_SECS,
    });
  }
}

function nameOf(claims: Readonly<Record<string, unknown>>, subject: string): string {
  const names = [claims['name'], claims['preferred_username'], claims['email']];
  const name = names.find((value): value is string => typeof value === 'string' && value !== '') ?? subject;
  return name.replaceAll(/\p{C}/gu, '').slice(0, NAME_CHARS_MAX);
}

function groupsOf(claim: unknown): string[] {
  const list: readonly unknown[] = Array.isArray(claim) ? claim : [claim];
  return list.filter((group): group is string => typeof group === 'string');
}
