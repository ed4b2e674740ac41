/**
 * Three gateways on one Postgres order certificates from a real ACME authority of which half of the requests or their
 * answers are lost and half of the nonces refused, while the gateway that orders is killed: each name has one order.
 * With certificates that live for seconds, no handshake with any of two gateways shows one that has expired.
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

const NAMES = Array.from({ length: 3 }, (_, index) => `n${index}.acme.test`);
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

beforeAll(async () => {
  [rig, dns] = await Promise.all([startNodesRig(), startDnsServer()]);
  // The authority asks each name at another gateway.
  for (const [index, name] of NAMES.entries()) dns.setA(name, [ADDRESSES[index] ?? '']);
}, 90_000);

afterAll(async () => {
  dns?.close();
  await rig?.close();
});

interface Installation {
  readonly url: string;
  readonly tlsPort: number;
  readonly pebble: Pebble;
  readonly nodes: TestGateway[];
  readonly start: (index: number) => Promise<TestGateway>;
  readonly close: () => Promise<void>;
}

/**
 * @param name of the gateways, each with its number; a name has files of its own
 * @param count of gateways
 * @param validitySecs of the certificates; by default they outlive the test
 */
async function install(name: string, count: number, validitySecs?: number): Promise<Installation> {
  const [httpPort = 0, tlsPort = 0] = await freePorts(2);
  const pebble = await startPebble({
    dnsServer: dns.address,
    httpPort,
    tlsPort,
    nonceRejects: 25,
    authorizationReuse: 50,
    ...(validitySecs === undefined ? {} : { validitySecs }),
  });
  const next = half();
  pebble.fate = ({ path }) => (path === '/dir' ? 'pass' : next());
  const url = await rig.server.createDatabase();
  const start = (index: number): Promise<TestGateway> =>
    startNode({
      url,
      folder: rig.folder,
      name: `${name}-${index}`,
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
  const nodes = await Promise.all(ADDRESSES.slice(0, count).map((_, index) => start(index)));
  const close = async (): Promise<void> => {
    await Promise.all(nodes.map((each) => each.stop()));
    await pebble.close();
  };
  return { url, tlsPort, pebble, nodes, start, close };
}

describe('three gateways with an authority whose answers fail half of the time', () => {
  let installed: Installation;
  beforeAll(async () => {
    installed = await install('node', ADDRESSES.length);
  }, 90_000);
  afterAll(() => installed?.close());

  it('make one order for each name, also when the one that orders is killed', async () => {
    const { url, tlsPort, pebble, nodes, start } = installed;
    const [first] = nodes;
    await createApp(first as TestGateway, 'shop', { hosts: NAMES });
    await until(() => pebble.orders.length >= 2, 30_000, 10, 'orders are under way');
    const rows = await rig.server.query(
      url,
      `select node.name from acme_state join node on node.id = lease_holder`,
    );
    const killed = nodes.findIndex((_, index) => rows[0]?.['name'] === `node-${index}`);
    expect(killed).toBeGreaterThanOrEqual(0);
    await nodes[killed]?.kill();
    nodes[killed] = await start(killed);
    const served = async (index: number, name: string): Promise<boolean> =>
      'names' in (await handshake(tlsPort, name, { host: ADDRESSES[index] ?? '' }));
    await until(
      async () => {
        for (const index of nodes.keys())
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

describe('two gateways with certificates of seconds, of an authority whose answers fail half of the time', () => {
  /** Shorter than many renewals take, so that certificates do expire. */
  const VALIDITY_SECS = 12;
  /** One that has expired is shown, if at all, until its renewal: for a second and more. */
  const LOOK_MS = 100;
  let installed: Installation;
  beforeAll(async () => {
    installed = await install('short', 2, VALIDITY_SECS);
  }, 90_000);
  afterAll(() => installed?.close());

  it('show no certificate that has expired, at none of them', async () => {
    const { nodes, tlsPort, pebble } = installed;
    const [name = ''] = NAMES;
    const fails = pebble.fate;
    pebble.fate = () => 'pass';
    await createApp(nodes[0] as TestGateway, 'shop', { hosts: [name] });
    const hosts = ADDRESSES.slice(0, nodes.length);
    const serials = hosts.map(() => new Set<string>());
    let [shown, expired] = [0, 0];
    const lookAtAll = async (): Promise<void> => {
      for (const [index, host] of hosts.entries()) {
        const startedMs = Date.now();
        const seen = await handshake(tlsPort, name, { host });
        if ('error' in seen) continue;
        shown += 1;
        serials[index]?.add(seen.serial);
        if (seen.expiresAtMs < startedMs) expired += 1;
      }
    };
    const hasEachSeen = (count: number) => async (): Promise<boolean> => {
      await lookAtAll();
      return serials.every(({ size }) => size >= count);
    };
    await until(hasEachSeen(1), 30_000, 20, 'every gateway serves the name');
    pebble.fate = fails;
    // Whichever gateway ordered a certificate, all take it over.
    await until(hasEachSeen(2), 90_000, LOOK_MS, 'every gateway shows a renewed one');
    expect(expired).toBe(0);
    expect(shown).toBeGreaterThan(100);
  }, 120_000);
});
