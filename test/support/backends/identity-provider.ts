/**
 * A real identity provider (the npm package oidc-provider) on a loopback port: machines get access tokens by client
 * credentials, people by the authorization-code flow with PKCE and its login and consent pages. Access tokens are
 * JWTs for the audience `orders` (RFC 9068, asked for by resource indicators, RFC 8707).
 */
import { createHash, generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, type JWK } from 'jose';
import { Provider } from 'oidc-provider';

export type SigningAlgorithm = 'ES256' | 'PS256' | 'RS256' | 'EdDSA';

export interface IdentityProvider {
  readonly issuer: string;
  readonly jwksUri: string;
  /** How often the key set was fetched. */
  keyFetches(): number;
  /** Signs with a new key from now on, under a new key id; the old key leaves the set at once. */
  rotateKey(algorithm?: SigningAlgorithm): Promise<void>;
  /** Access token of the machine client. @param scope space-separated */
  machineToken(scope: string): Promise<string>;
  /** Access token of a person who signs in and consents. */
  personToken(login: string, scope: string): Promise<string>;
  close(): Promise<void>;
}

const RESOURCE = 'https://orders.test/';
const REDIRECT = 'https://client.test/callback';
const SECRET = 'a-client-secret-of-some-length-for-the-tests';

export async function startIdentityProvider(algorithm: SigningAlgorithm): Promise<IdentityProvider> {
  let handler: RequestListener = (_request, response) => void response.writeHead(503).end();
  let keyFetches = 0;
  const server = createServer((request, response) => {
    if (request.url === '/jwks') keyFetches++;
    handler(request, response);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let keyNumber = 0;
  const rotateKey = async (next: SigningAlgorithm = algorithm): Promise<void> => {
    const key: JWK = { ...(await exportJWK(newKey(next))), kid: `key-${++keyNumber}`, alg: next, use: 'sig' };
    handler = new Provider(issuer, configuration(key, next)).callback();
  };
  await rotateKey();
  return {
    issuer,
    jwksUri: `${issuer}/jwks`,
    keyFetches: () => keyFetches,
    rotateKey,
    machineToken: (scope) =>
      tokenFrom(issuer, {
        grant_type: 'client_credentials',
        client_id: 'machine',
        scope,
        resource: RESOURCE,
      }),
    personToken: (login, scope) => personToken(issuer, login, scope),
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

function newKey(algorithm: SigningAlgorithm): KeyObject {
  switch (algorithm) {
    case 'ES256':
      return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    case 'EdDSA':
      return generateKeyPairSync('ed25519').privateKey;
    default:
      return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  }
}

function configuration(key: JWK, alg: SigningAlgorithm): Record<string, unknown> {
  const client = { client_secret: SECRET, token_endpoint_auth_method: 'client_secret_post' };
  return {
    jwks: { keys: [key] },
    clients: [
      {
        ...client,
        client_id: 'machine',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: alg,
      },
      {
        ...client,
        client_id: 'web',
        grant_types: ['authorization_code'],
        redirect_uris: [REDIRECT],
        response_types: ['code'],
        id_token_signed_response_alg: alg,
      },
    ],
    cookies: { keys: ['a key for the cookies of the tests'] },
    scopes: ['openid', 'orders:read', 'orders:write'],
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    extraTokenClaims: (_context: unknown, token: { readonly accountId?: string }) =>
      token.accountId === undefined ? undefined : { email: `${token.accountId}@example.test` },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: 'orders:read orders:write',
          audience: 'orders',
          accessTokenTTL: 600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg } },
        }),
      },
    },
  };
}

async function tokenFrom(issuer: string, fields: Readonly<Record<string, string>>): Promise<string> {
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...fields, client_secret: SECRET }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`The identity provider answered ${response.status} ${text}`);
  return (JSON.parse(text) as { readonly access_token: string }).access_token;
}

/** What a browser does: follows redirects, keeps cookies, fills in the two forms. */
async function personToken(issuer: string, login: string, scope: string): Promise<string> {
  const verifier = randomBytes(32).toString('base64url');
  const parameters = new URLSearchParams({
    client_id: 'web',
    response_type: 'code',
    redirect_uri: REDIRECT,
    scope: `openid ${scope}`,
    resource: RESOURCE,
    state: 'a-state',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const cookies = new Map<string, string>();
  let url = `${issuer}/auth?${parameters.toString()}`;
  let form: URLSearchParams | undefined;
  for (let step = 0; step < 12; step++) {
    if (url.startsWith(REDIRECT)) {
      const code = URL.parse(url)?.searchParams.get('code');
      if (!code) throw new Error(`No code came back: ${url}`);
      const fields = { grant_type: 'authorization_code', client_id: 'web', code, code_verifier: verifier };
      return tokenFrom(issuer, { ...fields, redirect_uri: REDIRECT });
    }
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === undefined ? {} : { method: 'POST', body: form }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split(/=(.*)/s);
      cookies.set(name, value);
    }
    const page = await response.text();
    const location = response.headers.get('location');
    if (location !== null) {
      url = new URL(location, url).href;
      form = undefined;
      continue;
    }
    const prompt = /name="prompt" value="(login|consent)"/.exec(page)?.[1];
    if (prompt === undefined) throw new Error(`The identity provider shows ${response.status} ${page}`);
    form = new URLSearchParams({ prompt, login, password: 'any' });
  }
  throw new Error('The identity provider never came to an end');
}
