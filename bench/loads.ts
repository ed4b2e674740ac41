/** The loads under which Headgate is profiled and compared with other versions of itself. */
import type { Load } from './load.ts';
import { createService, type RunningHeadgate } from './peers/headgate.ts';
import { APP, PREFIX, SCOPE, orderRequest } from './service.ts';
import { FULL_POLICY } from './workloads/full-policy.ts';
import { SMALL_LOAD } from './workloads/pass-through.ts';

export type LoadName = 'policy' | 'pass' | 'bodies' | 'download' | 'upload';

export const LOADS: Readonly<Record<LoadName, Load>> = {
  policy: SMALL_LOAD,
  pass: SMALL_LOAD,
  bodies: { ...SMALL_LOAD, method: 'POST', bodyBytes: 4096, requests: [{ path: `${PREFIX}/large` }] },
  download: { connections: 8, requests: [{ path: `${PREFIX}/download` }] },
  upload: {
    connections: 8,
    method: 'POST',
    bodyBytes: 10 * 1024 * 1024,
    requests: [{ path: `${PREFIX}/upload` }],
  },
};

/** Configures what the load asks for and gives the load, with its credentials. */
export async function configureFor(
  name: LoadName,
  gateway: RunningHeadgate,
  originPort: number,
): Promise<Load> {
  const plain = LOADS[name];
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
