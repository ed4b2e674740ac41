/**
 * Apps by host name through the other doors: HTTP/2, configuration files, backups, and gateways that share a database.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { configYaml, startFileRig, untilState, type FileRig } from '../../support/config-file.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { connectHttp2, request as requestHttp2, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { startNode, startNodesRig, type NodesRig } from '../../support/nodes.ts';
import { createService, request } from '../../support/traffic.ts';

const TIMEOUT = { timeout: 90_000 };
const statusAt = async (gateway: TestGateway, path: string, host: string): Promise<number> =>
  (await request(gateway, path, { headers: { Host: host } })).status;

describe('HTTP/2', () => {
  let folder: string;
  let rig: FileRig;
  let gateway: TestGateway;
  beforeAll(async () => {
    rig = await startFileRig();
    folder = mkdtempSync(join(tmpdir(), 'headgate-hosts-'));
    for (const [name, text] of Object.entries(TLS_PAIR)) writeFileSync(join(folder, `${name}.pem`), text);
    const env = {
      GATEWAY_PROXY__TLS__CERT_FILE: join(folder, 'cert.pem'),
      GATEWAY_PROXY__TLS__KEY_FILE: join(folder, 'key.pem'),
    };
    gateway = await startGateway({ env });
  });
  afterAll(async () => {
    await gateway.stop();
    await rig.end();
    rmSync(folder, { recursive: true });
  });

  it('streams of one connection go to the apps of their hosts', async () => {
    await createService(gateway, 'a', rig.origin.port, {
      app: { gateway_path: '/p', hosts: ['backend.test'] },
    });
    await createService(gateway, 'b', rig.origin.port, {
      app: {
        gateway_path: '/p',
        hosts: ['*.backend.test'],
        default_policy: { auth: { auth_type: 'api_key' } },
      },
    });
    const client = await connectHttp2(gateway.proxyPort);
    const statusOf = async (fields: Record<string, string>): Promise<number> =>
      (await requestHttp2(client, { ':path': '/p/v1/x', ...fields })).status;
    const statuses = await Promise.all([
      statusOf({ ':authority': 'backend.test' }),
      statusOf({ ':authority': 'x.Backend.test:443' }),
      statusOf({ ':authority': 'Backend.test.' }),
      statusOf({ ':authority': 'other.test' }),
      statusOf({ ':authority': 'backend.test', 'x-forwarded-host': 'x.backend.test' }),
    ]);
    expect(statuses).toEqual([200, 401, 200, 404, 200]);
    await client.close();
  });

  it('a host that no certificate covers is warned of', async () => {
    const { body } = await gateway.api('PATCH', '/apps/a', {
      hosts: ['backend.test', 'localhost', 'other.test'],
    });
    expect(body.warnings).toEqual([
      {
        code: 'host_without_certificate',
        pointer: '/hosts/2',
        detail: expect.stringContaining('has the name "other.test"') as string,
      },
    ]);
  });
});

describe('configuration files', () => {
  it('serve apps by host, follow a swap, and refuse a host twice with its place', TIMEOUT, async () => {
    const rig = await startFileRig();
    try {
      const { port } = rig.origin;
      const app = (slug: string, hosts: string, path = `GET /${slug}`) => ({
        slug,
        port,
        endpoints: [path],
        app: `    hosts: ${hosts}\n`,
      });
      const text = (a: string, b: string): string =>
        configYaml(app('a', a), app('b', b)).replaceAll(/gateway_path: .*/g, 'gateway_path: /p');
      rig.write('hosts.yaml', text('[a.test, "*.A.test"]', '[b.test]'));
      const gateway = await rig.start('hosts.yaml');
      const statuses = () =>
        Promise.all(
          ['a.test', 'x.a.test', 'b.test', 'c.test'].flatMap((host) =>
            ['/p/v1/a', '/p/v1/b'].map((path) => statusAt(gateway, path, host)),
          ),
        );
      expect(await statuses()).toEqual([200, 404, 200, 404, 404, 200, 404, 404]);
      rig.replace('hosts.yaml', text('[b.test]', '[a.test, "*.a.test"]'));
      await expect.poll(statuses, { timeout: 20_000 }).toEqual([404, 200, 404, 200, 200, 404, 404, 404]);
      rig.replace('hosts.yaml', text('[b.test, a.test]', '[a.test]'));
      const refused = await untilState(gateway, 'refused');
      expect(JSON.stringify(refused)).toContain('already taken by the app \\"a\\" at the host \\"a.test\\"');
      expect(await statuses()).toEqual([404, 200, 404, 200, 200, 404, 404, 404]);
    } finally {
      await rig.end();
    }
  });
});

describe('gateways on one database', () => {
  let rig: NodesRig;
  let nodes: TestGateway[] = [];
  beforeAll(async () => {
    rig = await startNodesRig();
  }, 90_000);
  // Also where the test has failed: gateways that are left slow down all that follow.
  afterEach(async () => void (await Promise.all(nodes.map((node) => node.stop()))));
  afterAll(() => rig.close());

  it('know the hosts of a write when it is answered, and refuse the same host', TIMEOUT, async () => {
    const url = await rig.server.createDatabase();
    nodes = await Promise.all(
      ['one', 'two'].map((name) => startNode({ url, folder: rig.folder, name: `hosts-${name}` })),
    );
    const [one, two] = nodes as [TestGateway, TestGateway];
    await createService(one, 'a', rig.origin.port, { app: { gateway_path: '/p', hosts: ['a.test'] } });
    await createService(two, 'b', rig.origin.port, {
      app: { gateway_path: '/p', hosts: ['*.a.test'], default_policy: { auth: { auth_type: 'api_key' } } },
    });
    const seen = async () =>
      Promise.all(
        nodes.flatMap((node) =>
          ['a.test', 'x.a.test', 'b.test'].map((host) => statusAt(node, '/p/v1/x', host)),
        ),
      );
    expect(await seen()).toEqual([200, 401, 404, 200, 401, 404]);
    const taken = await two.api('PATCH', '/apps/b', { hosts: ['a.test'] });
    expect([taken.status, taken.body.errors[0].detail]).toEqual([
      409,
      '"/p" is already taken by the app "a" at the host "a.test"',
    ]);
    const both = await Promise.all(
      nodes.map((node, index) =>
        node.api('PATCH', index === 0 ? '/apps/a' : '/apps/b', { hosts: ['both.test'] }),
      ),
    );
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    await one.must('PATCH', '/apps/a', { hosts: ['c.test'] });
    await one.must('PATCH', '/apps/b', { hosts: [] });
    expect(await seen()).toEqual([401, 401, 401, 401, 401, 401]);
  });
});
