/**
 * docs/how-to/acme.md, run as it is written, with a real authority in place of those that it names: its staging
 * directory and its last one are two of them, which want the account of a customer and have certificates of their own.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startDnsServer, type DnsServer } from '../../support/backends/dns-server.ts';
import { freePorts } from '../../support/backends/origin-process.ts';
import { runPage } from '../../support/programs/docs-page.ts';
import { DIRECTORY_CA_FILE, startPebble, type Pebble } from '../../support/programs/pebble.ts';
import { requireProgram } from '../../support/programs/programs.ts';

const NAME = 'shop.example.com';
const ACCOUNT = { 'kid-1': 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W' };

let dns: DnsServer;
let ports: number[];
const authorities: Pebble[] = [];
beforeAll(async () => {
  for (const program of ['bash', 'curl', 'openssl']) requireProgram(program);
  dns = await startDnsServer();
  dns.setA(NAME, ['127.0.0.1']);
  ports = await freePorts(2);
  const [httpPort, tlsPort] = ports as [number, number];
  for (let count = 0; count < 2; count++)
    authorities.push(
      await startPebble({ dnsServer: dns.address, httpPort, tlsPort, externalAccounts: ACCOUNT }),
    );
});
afterAll(async () => {
  dns?.close();
  for (const authority of authorities) await authority.close();
});

it('leads to a certificate, and to one of another authority', { timeout: 180_000 }, async () => {
  const [httpPort, tlsPort] = ports;
  const [first, second] = authorities;
  const [[kid, key] = ['', '']] = Object.entries(ACCOUNT);
  const problem = await runPage('docs/how-to/acme.md', {
    'GATEWAY_PROXY__PORT=80 GATEWAY_PROXY__TLS__PORT=443': `GATEWAY_PROXY__PORT=${httpPort} GATEWAY_PROXY__TLS__PORT=${tlsPort}`,
    '127.0.0.1:443': `127.0.0.1:${tlsPort}`,
    // The page has the first for machines that cannot resolve the name, as this one; the second is for speed.
    'ACCEPT_TERMS=true ':
      'ACCEPT_TERMS=true GATEWAY_ACME__SELF_CHECK=false GATEWAY_CLUSTER__NODE_TIMEOUT_MS=2000 ',
    'rQ0… ': `${kid} `,
    'zWNd…': key,
    'https://ca.internal/acme/acme/directory': first?.directory ?? '',
    '/etc/headgate/ca.pem': DIRECTORY_CA_FILE,
    'DIRECTORY=letsencrypt\n': `DIRECTORY=${second?.directory}\n`,
  });
  expect(problem).toBeUndefined();
  expect(authorities.map(({ orders }) => orders.includes(NAME))).toEqual([true, true]);
});
