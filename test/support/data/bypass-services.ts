/**
 * Services in which one path each is protected in one way, in every mode of routing; and the attempts that must not
 * get through. Used over HTTP/1.1 and HTTP/2 alike.
 */
import type { TestGateway } from '../gateway.ts';
import { createKey, quietWindowSecs } from '../policies.ts';
import { readingsOf } from './path-spellings.ts';
import { createApp, createEndpoint, createRevision, createVersion, type Fields } from '../traffic.ts';

export interface Mode {
  readonly slug: string;
  readonly managed: boolean;
  readonly strips: boolean;
  readonly allowsSlashes: boolean;
}

export const MODES: readonly Mode[] = [0, 1, 2, 3, 4, 5, 6, 7].map((bits) => ({
  slug: `m${bits}`,
  managed: (bits & 1) !== 0,
  strips: (bits & 2) === 0,
  allowsSlashes: (bits & 4) !== 0,
}));

export interface Protection {
  /** Name of the area that is protected; below the version, unless `prefix` says otherwise. */
  readonly area: string;
  readonly status: number;
  readonly method: string;
  /** Of the endpoint; undefined where something else protects. */
  readonly endpoint: Fields | undefined;
  readonly keyed?: true;
}

const KEY = { auth_type: 'api_key', required: true };

export const PROTECTIONS: readonly Protection[] = [
  { area: 'auth', status: 401, method: 'GET', endpoint: { policy_override: { auth: KEY } } },
  {
    area: 'scope',
    status: 403,
    method: 'GET',
    keyed: true,
    endpoint: { policy_override: { auth: KEY, required_scopes: ['admin'] } },
  },
  {
    area: 'method',
    status: 405,
    method: 'DELETE',
    endpoint: { policy_override: { allowed_methods: ['GET'] } },
  },
  { area: 'off', status: 404, method: 'GET', endpoint: { is_active: false } },
  {
    area: 'limit',
    status: 429,
    method: 'GET',
    endpoint: {
      policy_override: { rate_limit: { enabled: true, requests: 1, window_seconds: quietWindowSecs() } },
    },
  },
  // A version of its own below the first, which the fallback of the first must not serve.
  { area: 'old', status: 410, method: 'GET', endpoint: undefined },
];

/** Returns a key of each mode's app, by slug; it has no scopes. */
export async function createBypassServices(
  gateway: TestGateway,
  backendPort: number,
): Promise<ReadonlyMap<string, string>> {
  const keys = new Map<string, string>();
  for (const { slug, managed, strips, allowsSlashes } of MODES) {
    const routing_mode = managed ? 'managed_endpoint' : 'pass_through';
    await createApp(gateway, slug, { routing_mode, allow_encoded_slashes: allowsSlashes });
    await createVersion(gateway, slug);
    await createRevision(gateway, slug, backendPort, { strip_gateway_path: strips });
    await createEndpoint(gateway, slug, '*', '/public/data');
    // A looser neighbour that takes any other area, as a parameter does.
    await createEndpoint(gateway, slug, '*', '/{area}/data', { backend_path: '/{area}/data' });
    for (const { area, endpoint } of PROTECTIONS)
      if (endpoint !== undefined) await createEndpoint(gateway, slug, '*', `/${area}/data`, endpoint);
    await createVersion(gateway, slug, 'old', { gateway_path: `/${slug}/v1/old`, status: 'retired' });
    keys.set(slug, (await createKey(gateway, slug)).token);
  }
  return keys;
}

/** Why a request that reached the backend should not have; undefined when it may. */
export function bypassOf(
  method: string,
  url: string,
  { area, ...protection }: Protection,
): string | undefined {
  if (protection.method !== method.toUpperCase()) return undefined;
  for (const reading of readingsOf(url))
    if (reading.endsWith(`/${area}/data`)) return `${method} ${url} can be read as ${reading}`;
  return undefined;
}
