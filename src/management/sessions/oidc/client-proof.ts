/**
 * How the gateway proves at the token endpoint that it is the client (OpenID Connect Core 1.0, section 9): with its
 * secret in the body (`client_secret_post`) or in `Authorization` (`client_secret_basic`). Many providers take one of
 * them only, by the registration of the client, which no document tells. So the second is tried when the first is
 * refused, and what was taken is used from then on.
 *
 * Owns the method in use.
 */
import type { ClientAuth, ClientSecretBasic, ClientSecretPost } from 'openid-client';

type Method = 'client_secret_basic' | 'client_secret_post';
/** What the package has for them; it is loaded late. */
interface Package {
  readonly ClientSecretBasic: typeof ClientSecretBasic;
  readonly ClientSecretPost: typeof ClientSecretPost;
}

const OTHER: Readonly<Record<Method, Method>> = {
  client_secret_basic: 'client_secret_post',
  client_secret_post: 'client_secret_basic',
};

export class ClientProof {
  /** undefined: none was refused yet; the metadata of the provider decides. */
  #method: Method | undefined;

  /** What proves each call to the token endpoint. */
  auth(oidc: Package, secret: string): ClientAuth {
    const proofs: Readonly<Record<Method, ClientAuth>> = {
      client_secret_basic: oidc.ClientSecretBasic(secret),
      client_secret_post: oidc.ClientSecretPost(secret),
    };
    return (provider, client, body, headers) => {
      this.#method ??= firstOf(provider.token_endpoint_auth_methods_supported);
      proofs[this.#method](provider, client, body, headers);
    };
  }

  /** Makes the call, and once more with the other method when the provider does not know the client. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      const refused = this.#method;
      if (refused === undefined || !isUnknownClient(error)) throw error;
      this.#method = OTHER[refused];
      return call().catch((again: unknown) => {
        this.#method = refused;
        // If neither is taken, the secret is wrong: the first refusal is of the method that the provider names.
        throw isUnknownClient(again) ? error : again;
      });
    }
  }
}

/** A provider that names no methods takes `client_secret_basic` (OpenID Connect Discovery 1.0, section 3). */
const firstOf = (supported: readonly string[] | undefined): Method =>
  supported?.includes('client_secret_post') === true ? 'client_secret_post' : 'client_secret_basic';

/** RFC 6749 section 5.2: `invalid_client`, or 401 with a challenge. */
function isUnknownClient(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { error: code, status } = error as { readonly error?: unknown; readonly status?: unknown };
  return code === 'invalid_client' || status === 401;
}
