/**
 * Three gateways on one Postgres order certificates from a real ACME authority of which half of the requests or their
 * answers are lost and half of the nonces refused, while the gateway that orders is killed: each name has one order, and
 * no handshake shows a certificate that has expired.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDnsServer, type DnsServer } from '../../support/backends/dns-server.ts';
import { freePorts } from '../../support/backends/origin-process.ts';
import { handshake } from '../../support/clients/handshake.ts';
import type { TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { SECRET_KEY, startNode, startNodesRig, type NodesRig } from '../../support/nodes.ts';
import { DIRECTORY_CA_FILE, startPebble, type Fate, type Pebble } from '../../support/programs/pebble.ts';
import { createApp } from '../../support/traffic.ts';

const NAMES = Array.from({ length: 4 }, (_, index) => `n${index}.acme.test`);
const ADDRESSES = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
const FAILURES: readonly Fate[] = ['unheard', 'lost', 'error', 'unheard'];
/** Half of the requests fail; always the same ones of a run. */
function half(): () => Fate {
  let state = 1;
  return () => {
    state = (state * 48_271) % 0x7fffffff;
    return state % 2 === 0 ? 'pass' : (FAILURES[(state >> 4) % FAILURES.length] ?? 'pass');
  };
}

let rig: NodesRig;
let dns: DnsServer;
let pebble: Pebble;
let url: string;
let [httpPort, tlsPort] = [0, 0];
const nodes: TestGateway[] = [];

const node = (index: number): Promise<TestGateway> =>
  startNode({
    url,
    folder: rig.folder,
    name: `node-${index}`,
    env: {
      GATEWAY_ACME__DIRECTORY: pebble.directory,
      GATEWAY_ACME__ACCEPT_TERMS: 'true',
      GATEWAY_ACME__CA_FILE: DIRECTORY_CA_FILE,
      GATEWAY_ACME__SELF_CHECK: 'false',
      GATEWAY_ACME__RETRY_SECS: '1',
      GATEWAY_PROXY__HOST: ADDRESSES[index] ?? '',
      GATEWAY_PROXY__PORT: String(httpPort),
      GATEWAY_PROXY__TLS__PORT: String(tlsPort),
      GATEWAY_CLUSTER__NODE_TIMEOUT_MS: '2000',
      GATEWAY_CLUSTER__HEARTBEAT_MS: '300',
      GATEWAY_SECRET_KEY: SECRET_KEY,
      GATEWAY_WORKERS: '1',
    },
  });

beforeAll(async () => {
  [rig, dns] = await Promise.all([startNodesRig(), startDnsServer()]);
  [httpPort = 0, tlsPort = 0] = await freePorts(2);
  pebble = await startPebble({
    dnsServer: dns.address,
    httpPort,
    tlsPort,
    nonceRejects: 25,
    authorizationReuse: 50,
  });
  url = await rig.server.createDatabase();
  nodes.push(...(await Promise.all([0, 1, 2].map(node))));
  // The authority asks each name at another gateway.
  for (const [index, name] of NAMES.entries()) dns.setA(name, [ADDRESSES[index % 3] ?? '']);
}, 90_000);

afterAll(async () => {
  await Promise.all(nodes.map((each) => each.stop()));
  await pebble?.close();
  dns?.close();
  await rig?.close();
});

describe('three gateways with an authority of which half fails', () => {
  it('make one order for each name, also when the one that orders is killed', async () => {
    let killed = -1;
    const next = half();
    pebble.fate = ({ path }) => {
      if (path === '/dir') return 'pass';
      return next();
    };
    const [first] = nodes;
    await createApp(first as TestGateway, 'shop', { hosts: NAMES });
    await until(() => pebble.orders.length >= 2, 30_000, 10, 'orders are under way');
    const rows = await rig.server.query(
      url,
      `select node.name from acme_state join node on node.id = lease_holder`,
    );
    killed = nodes.findIndex((_, index) => rows[0]?.['name'] === `node-${index}`);
    expect(killed).toBeGreaterThanOrEqual(0);
    await nodes[killed]?.kill();
    nodes[killed] = await node(killed);
    const served = async (index: number, name: string): Promise<boolean> =>
      'names' in (await handshake(tlsPort, name, { host: ADDRESSES[index] ?? '' }));
    await until(
      async () => {
        for (const index of [0, 1, 2])
          for (const name of NAMES) if (!(await served(index, name))) return false;
        return true;
      },
      60_000,
      200,
      'every gateway serves every name',
    );
    expect(pebble.orders.toSorted()).toEqual(NAMES);
  }, 150_000);
});
