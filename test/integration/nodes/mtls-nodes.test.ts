/**
 * Three gateways on one Postgres verify client certificates, each with files of its own: one to which a file was not
 * copied refuses, or says that it accepts what the others refuse, and each of the three knows of it.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import * as https from 'node:https';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CA } from '../../support/clients/http2-client.ts';
import type { TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { startNode, startNodesRig, type NodesRig } from '../../support/nodes.ts';
import { CertificateMaker } from '../../support/programs/certificate-maker.ts';
import { createService } from '../../support/traffic.ts';

const TLS = resolve(import.meta.dirname, '../../support/tls');
const NAMES = ['node-a', 'node-b', 'node-c'];
const WAIT_MS = 20_000;

const maker = new CertificateMaker();
const root = maker.authority('partners');
const good = maker.issue('good', root);
const revoked = maker.issue('revoked', root);

let rig: NodesRig;
const nodes: TestGateway[] = [];
const folderOf = (name: string): string => join(rig.folder, `cas-${name}`);

beforeAll(async () => {
  rig = await startNodesRig();
  writeFileSync(join(rig.folder, 'partners.crt'), root.cert);
  writeFileSync(join(rig.folder, 'partners.crl'), maker.revocationList(root, [revoked]));
  const url = await rig.server.createDatabase();
  const start = (name: string): Promise<TestGateway> => {
    mkdirSync(folderOf(name));
    if (name !== 'node-c') for (const end of ['crt', 'crl']) give(name, `partners.${end}`);
    const env = {
      GATEWAY_WORKERS: '1',
      GATEWAY_PROXY__TLS__PORT: '0',
      GATEWAY_PROXY__TLS__CERT_FILE: join(TLS, 'backend.pem'),
      GATEWAY_PROXY__TLS__KEY_FILE: join(TLS, 'backend-key.pem'),
      GATEWAY_PROXY__CLIENT_CAS: folderOf(name),
    };
    return startNode({ url, folder: rig.folder, name, env });
  };
  nodes.push(...(await Promise.all(NAMES.map(start))));
  const policy = { auth: { auth_type: 'mtls', mtls: { ca: 'partners' } } };
  await createService(nodes[0]!, 'svc', rig.origin.port, { app: { default_policy: policy } });
}, 90_000);
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  await rig?.close();
  maker.remove();
});

const give = (name: string, file: string): void =>
  copyFileSync(join(rig.folder, file), join(folderOf(name), file));

/** Status of a request to a gateway with a certificate. */
function statusOf(node: TestGateway, { cert, key }: typeof good): Promise<number> {
  const ready = node.logs().find(({ msg }) => msg === 'headgate is ready');
  const port = Number(String(ready?.['proxy_tls']).split(':')[1]);
  return new Promise((done, fail) => {
    const options = { host: '127.0.0.1', port, path: '/svc/v1/x', ca: CA, cert, key, agent: false };
    const sent = https.get({ ...options, checkServerIdentity: () => undefined }, (response) => {
      response.resume();
      done(response.statusCode ?? 0);
    });
    sent.on('error', fail);
  });
}

interface Problem {
  readonly severity: string;
  readonly code: string;
  readonly detail: string;
  readonly link: { readonly node?: string };
}

/** What each of the gateways says of trusted certificates, once all say the same. */
async function agreed(wanted: string): Promise<void> {
  for (const node of nodes) {
    await until(
      async () => {
        const problems = (await node.must('GET', '/problems')) as Problem[];
        const about = problems.filter(({ code }) => /^(?:trusted|revocation)/.test(code));
        const told = about.map(({ severity, code, link }) => `${severity} ${code} ${link.node}`);
        return told.join(', ') === wanted;
      },
      WAIT_MS,
      100,
      `a gateway says: ${wanted}`,
    );
  }
}

it('one that has no file refuses all, one without the list says that it accepts what is revoked', async () => {
  await agreed('critical trusted_certificates_missing node-c');
  expect(await Promise.all(nodes.map((node) => statusOf(node, good)))).toEqual([200, 200, 401]);
  const ready = await Promise.all(
    nodes.map(async (node) => JSON.stringify((await node.api('GET', '//readyz')).body)),
  );
  expect(ready.map((text) => text.includes('no usable file partners.crt'))).toEqual([false, false, true]);

  give('node-c', 'partners.crt');
  await agreed('critical revocation_list_missing node-c');
  expect(await Promise.all(nodes.map((node) => statusOf(node, revoked)))).toEqual([401, 401, 200]);

  give('node-c', 'partners.crl');
  await agreed('');
  expect(await Promise.all(nodes.map((node) => statusOf(node, revoked)))).toEqual([401, 401, 401]);
  expect(await Promise.all(nodes.map((node) => statusOf(node, good)))).toEqual([200, 200, 200]);

  writeFileSync(join(folderOf('node-b'), 'partners.crl'), maker.revocationList(root, []));
  await agreed('warning trusted_certificates_differ node-b');
}, 90_000);
