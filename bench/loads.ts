/** The loads under which Headgate is profiled and compared with other versions of itself. */
import type { Filler } from './database.ts';
import type { Load, LoadRequest } from './load.ts';
import { jwtPolicy } from './jwt-policy.ts';
import { createService, type RunningHeadgate } from './peers/headgate.ts';
import { APP, FILLER_ENDPOINTS, PREFIX, SCOPE, orderRequest } from './service.ts';
import { FULL_POLICY } from './workloads/full-policy.ts';
import { SMALL_LOAD } from './workloads/pass-through.ts';
import { keyRequests, OPEN_POLICY, routeRequests } from './workloads/scale.ts';

export type LoadName =
  | 'policy'
  | 'jwt'
  | 'pass'
  | 'bodies'
  | 'download'
  | 'upload'
  | 'keys'
  | 'keys-some'
  | 'keys-few'
  | 'routes'
  | 'routes-few';

const KEYS = 200_000;
const KEYS_IN_USE = 100_000;
const SOME_KEYS_IN_USE = 10_000;
const ENDPOINTS = 100_000;
const ENDPOINTS_IN_USE = 1_000;
const FEW = 10;

export const LOADS: Readonly<Record<LoadName, Load>> = {
  policy: SMALL_LOAD,
  jwt: SMALL_LOAD,
  pass: SMALL_LOAD,
  bodies: { ...SMALL_LOAD, method: 'POST', bodyBytes: 4096, requests: [{ path: `${PREFIX}/large` }] },
  download: { connections: 8, requests: [{ path: `${PREFIX}/download` }] },
  upload: {
    connections: 8,
    method: 'POST',
    bodyBytes: 10 * 1024 * 1024,
    requests: [{ path: `${PREFIX}/upload` }],
  },
  keys: SMALL_LOAD,
  'keys-some': SMALL_LOAD,
  'keys-few': SMALL_LOAD,
  routes: SMALL_LOAD,
  'routes-few': SMALL_LOAD,
};

/** What is asked for of a large configuration, instead of the one path of the small ones. */
const REQUESTS: Readonly<Partial<Record<LoadName, () => LoadRequest[]>>> = {
  keys: () => keyRequests(KEYS_IN_USE, KEYS),
  'keys-some': () => keyRequests(SOME_KEYS_IN_USE, KEYS),
  'keys-few': () => keyRequests(FEW, KEYS),
  routes: () => routeRequests(ENDPOINTS_IN_USE, ENDPOINTS),
  'routes-few': () => routeRequests(FEW, ENDPOINTS),
};

/** What is in the database before the start. */
export function fillerFor(name: LoadName): Filler {
  if (name.startsWith('keys')) return { endpoints: FEW, keys: KEYS, policy: FULL_POLICY };
  if (name.startsWith('routes')) return { endpoints: ENDPOINTS, policy: OPEN_POLICY };
  return { endpoints: FILLER_ENDPOINTS };
}

/** Configures what the load asks for and gives the load, with its credentials. */
export async function configureFor(
  name: LoadName,
  gateway: RunningHeadgate,
  originPort: number,
): Promise<Load> {
  const plain = LOADS[name];
  const requests = REQUESTS[name]?.();
  if (requests !== undefined) return { ...plain, requests };
  if (name === 'jwt') {
    const { policy, token } = await jwtPolicy();
    const endpoints = [['GET', '/orders/{id}']] as const;
    await createService(gateway, { slug: APP, originPort, policy, endpoints });
    return { ...plain, requests: [orderRequest(token)] };
  }
  if (name !== 'policy') {
    await createService(gateway, { slug: APP, originPort, stripGatewayPath: false });
    return plain;
  }
  const token = await createService(gateway, {
    slug: APP,
    originPort,
    policy: FULL_POLICY,
    endpoints: [['GET', '/orders/{id}']],
    keyScopes: [SCOPE],
  });
  return { ...plain, requests: [orderRequest(token)] };
}
