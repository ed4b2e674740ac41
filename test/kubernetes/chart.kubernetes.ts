/**
 * The Helm chart and the Kustomize base: every object that they render is one that Kubernetes takes, wrong values are
 * refused, both say the same, and a gateway starts with what the containers get.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ADMIN_TOKEN, MAIN, startGateway, type TestGateway } from '../support/gateway.ts';
import { startOrigin } from '../support/backends/origin.ts';
import { until } from '../support/measure/until.ts';
import { startPostgres, type PostgresServer } from '../support/programs/postgres.ts';
import { createService, request } from '../support/traffic.ts';
import { prepareRenderer, type KubernetesObject, type Renderer } from './render.ts';
import { EVERYTHING, FILES } from './values.ts';

const OBSERVABILITY = resolve(import.meta.dirname, '../../deploy/observability');
/** `runAsUser` and `fsGroup` of the pod. */
const POD_USER = 10_001;
const isRoot = process.getuid?.() === 0;
const SECRETS: Readonly<Record<string, string>> = {
  'admin-token': ADMIN_TOKEN,
  'secret-key': '0123456789abcdef'.repeat(4),
};
let folder = '';
let renderer: Renderer;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-kubernetes-'));
  chmodSync(folder, 0o755);
  renderer = prepareRenderer(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const named = (objects: readonly KubernetesObject[], kind: string, name = 'headgate'): KubernetesObject =>
  objects.find((object) => object.kind === kind && object.metadata.name === name);
const kinds = (objects: readonly KubernetesObject[]): string[] =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted();
const podOf = (objects: readonly KubernetesObject[]): KubernetesObject =>
  named(objects, 'Deployment').spec.template.spec;

describe('the chart', () => {
  it('has nothing that helm lint complains of', () => {
    const { code, stdout } = renderer.lint();
    expect([code, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
  });

  it('renders objects that Kubernetes takes, by default', () => {
    const objects = renderer.chart({});
    expect(renderer.problems(objects)).toBeUndefined();
    expect(kinds(objects)).toEqual([
      'Deployment headgate',
      'PodDisruptionBudget headgate',
      'Service headgate',
      'Service headgate-management',
      'ServiceAccount headgate',
    ]);
  });

  it('renders objects that Kubernetes takes, with everything on', () => {
    const objects = renderer.chart(EVERYTHING);
    expect(renderer.problems(objects)).toBeUndefined();
    expect(kinds(objects)).toEqual([
      'ConfigMap headgate-dashboards',
      'Deployment headgate',
      'HorizontalPodAutoscaler headgate',
      'NetworkPolicy headgate',
      'PodDisruptionBudget headgate',
      'PrometheusRule headgate-alerts',
      'PrometheusRule headgate-recording',
      'Service headgate',
      'Service headgate-management',
      'ServiceAccount headgate',
      'ServiceMonitor headgate',
    ]);
    const { replicas } = named(objects, 'Deployment').spec;
    expect(replicas).toBeUndefined();
    const env = podOf(objects).containers[0].env as { name: string; value?: string }[];
    const value = (name: string): string | undefined => env.find((each) => each.name === name)?.value;
    // Not 1.073741824e+09.
    expect(value('GATEWAY_STATS__MAX_BYTES')).toBe('1073741824');
    expect(value('GATEWAY_OTEL__SAMPLE_RATIO')).toBe('0.25');
    expect(value('GATEWAY_WORKERS')).toBeUndefined();
    expect(value('GATEWAY_LIMITS__NODES')).toBe('2');
  });

  it('takes names that YAML would read as numbers', () => {
    const objects = renderer.chart({
      ...EVERYTHING,
      existingSecret: '0123',
      secretKeys: { GATEWAY_ADMIN_TOKEN: 'on' },
      serviceAccount: { name: '99' },
    });
    expect(renderer.problems(objects)).toBeUndefined();
    expect(podOf(objects).serviceAccountName).toBe('99');
    expect(podOf(objects).containers[0].env).toContainEqual({
      name: 'GATEWAY_ADMIN_TOKEN',
      valueFrom: { secretKeyRef: { name: '0123', key: 'on' } },
    });
  });

  it('renders objects that Kubernetes takes, with files in place of a database', () => {
    const objects = renderer.chart(FILES);
    expect(renderer.problems(objects)).toBeUndefined();
    expect(podOf(objects).initContainers).toBeUndefined();
    expect(named(objects, 'ConfigMap', 'headgate-configuration').data).toEqual(FILES.configuration.files);
  });

  it('is checked by schemas that refuse what Kubernetes would not take', () => {
    const [first, ...rest] = renderer.chart({});
    const wrong = { ...first, metadata: { ...first.metadata, lables: {} } };
    expect(renderer.problems([wrong, ...rest])).toMatch(/lables/);
    const monitor = named(renderer.chart(EVERYTHING), 'ServiceMonitor');
    expect(renderer.problems([{ ...monitor, spec: { ...monitor.spec, endpoint: [] } }])).toMatch(/endpoint/);
  });

  it('keeps the rules and dashboards as they are', () => {
    const objects = renderer.chart(EVERYTHING);
    for (const name of ['recording', 'alerts']) {
      const file = parse(readFileSync(join(OBSERVABILITY, `rules/${name}.yaml`), 'utf8'));
      expect(named(objects, 'PrometheusRule', `headgate-${name}`).spec).toEqual(file);
    }
    const { data } = named(objects, 'ConfigMap', 'headgate-dashboards');
    for (const name of ['overview', 'app', 'node'])
      expect(JSON.parse(data[`headgate-${name}.json`])).toEqual(
        JSON.parse(readFileSync(join(OBSERVABILITY, `dashboards/${name}.json`), 'utf8')),
      );
  });

  it('gives alerts the address of their sections where the page is served', () => {
    const page = 'https://docs.example.com/how-to/alerts/';
    const prometheusRule = { enabled: true, alertsPageUrl: page };
    const objects = renderer.chart({ metrics: { prometheusRule } });
    expect(renderer.problems(objects)).toBeUndefined();
    const { groups } = named(objects, 'PrometheusRule', 'headgate-alerts').spec;
    for (const { alert, annotations } of groups.flatMap(({ rules }: KubernetesObject) => rules)) {
      expect(annotations.runbook_url).toBe(`${page}#${alert.toLowerCase()}`);
      expect(annotations.runbook).toBeUndefined();
    }
  });

  it.each([
    [{ replicas: 3 }, /additional properties 'replicas' not allowed/],
    [{ settings: { GATEWAY_WORKRS: 2 } }, /'GATEWAY_WORKRS' not allowed/],
    [{ settings: { GATEWAY_WORKERS: 300 } }, /maximum: got 300, want 256/],
    [{ settings: { GATEWAY_WORKERS: 'lots' } }, /'lots' does not match pattern/],
    [{ settings: { GATEWAY_PROXY__DRAIN_GRACE_MS: '5s' } }, /'5s' does not match pattern/],
    [{ secretKeys: { GATEWAY_REDIS: 'redis-url' } }, /'GATEWAY_REDIS' not allowed/],
    [{ settings: { GATEWAY_LOG__FORMAT: 'xml' } }, /must be one of 'json', 'text'/],
    [{ settings: { GATEWAY_ADMIN_TOKEN: 'x' } }, /'GATEWAY_ADMIN_TOKEN' not allowed/],
    [{ settings: { GATEWAY_REDIS_URL: 'redis://a' } }, /'GATEWAY_REDIS_URL' not allowed/],
    [{ secretKeys: { GATEWAY_NOTHING: 'x' } }, /GATEWAY_NOTHING/],
    [{ metrics: { prometheusRule: { alertsPageUrl: 'docs/alerts' } } }, /does not match pattern/],
    [{ configuration: { from: 'redis' } }, /must be one of 'database', 'files'/],
    [{ configuration: { from: 'files' } }, /needs configuration.files or configuration.existingConfigMap/],
    [
      { tls: { existingSecret: 'a' }, settings: { GATEWAY_PROXY__TLS__CERT_FILE: '/b' } },
      /exclude each other/,
    ],
  ])('refuses %j', (values, message) => {
    const { code, stderr } = renderer.template(values);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(message);
  });

  it('gives a pod as long to stop as its gateway may take', () => {
    const graceOf = (settings: object): number =>
      podOf(renderer.chart({ settings })).terminationGracePeriodSeconds;
    expect(graceOf({})).toBe(45);
    expect(graceOf({ GATEWAY_PROXY__DRAIN_GRACE_MS: 0, GATEWAY_PROXY__DRAIN_TIMEOUT_MS: 600_000 })).toBe(610);
    expect(graceOf({ GATEWAY_PROXY__DRAIN_TIMEOUT_MS: null })).toBe(45);
  });

  it.each([{}, EVERYTHING, FILES])('gives a pod no rights that it does not need', (values) => {
    const pod = podOf(renderer.chart(values));
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      // A secret stands in no environment.
      for (const { name, value } of container.env)
        if (/TOKEN|SECRET|REDIS|DATABASE_URL/.test(name)) expect(value ?? '').toBe('');
    }
  });
});

describe('the Kustomize base', () => {
  /** Labels that only charts have. */
  const OF_CHARTS = /^(?:helm\.sh\/chart|app\.kubernetes\.io\/(?:managed-by|version|instance))$/;
  const plain = (objects: readonly KubernetesObject[]): unknown =>
    JSON.parse(
      JSON.stringify(
        objects
          .map((object) => ({ ...object, metadata: { ...object.metadata, namespace: undefined } }))
          .toSorted((a, b) => (a.kind + a.metadata.name < b.kind + b.metadata.name ? -1 : 1)),
        (key, value: unknown) => (OF_CHARTS.test(key) ? undefined : byName(key, value)),
      ),
    );
  /** Lists of variables and volumes, whose order means nothing; a list without anything is none. */
  const byName = (key: string, value: unknown): unknown =>
    Array.isArray(value) && value.length === 0
      ? undefined
      : /^(?:env|volumes|volumeMounts)$/.test(key) && Array.isArray(value)
        ? value.toSorted((a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1))
        : value;

  it('says what the chart says', () => {
    const objects = renderer.kustomize('base');
    expect(renderer.problems(objects)).toBeUndefined();
    expect(plain(objects)).toEqual(plain(renderer.chart({})));
  });

  it('has an overlay for files that says what the chart says', () => {
    const objects = renderer.kustomize('overlays/files');
    expect(renderer.problems(objects)).toBeUndefined();
    const files = named(objects, 'ConfigMap', 'headgate-configuration').data;
    expect(plain(objects)).toEqual(plain(renderer.chart({ configuration: { from: 'files', files } })));
  });
});

describe('a gateway with what its container gets', () => {
  let postgres: PostgresServer;
  let url = '';
  beforeAll(async () => {
    postgres = await startPostgres('fsync=off');
    url = await postgres.createDatabase();
  });
  afterAll(() => postgres?.stop());

  /** The environment as a kubelet makes it, with the mounts in a folder of this test. */
  function environmentOf(container: KubernetesObject, mounts: string): Record<string, string> {
    const secrets: Readonly<Record<string, string>> = { ...SECRETS, 'database-url': url };
    const entries = container.env.map(({ name, value, valueFrom }: KubernetesObject): [string, string] => {
      const secret = valueFrom?.secretKeyRef?.key as string | undefined;
      const given = valueFrom?.fieldRef === undefined ? String(value ?? '') : 'headgate-pod';
      return [name, secret === undefined ? given : (secrets[secret] ?? '')];
    });
    for (const { mountPath } of container.volumeMounts) mountFolder(join(mounts, mountPath));
    return Object.fromEntries(
      entries.map(([name, value]: [string, string]) => [
        name,
        /^\/(?:var\/lib|etc)\/headgate/.test(value) ? join(mounts, value) : value,
      ]),
    );
  }

  /** As an emptyDir with an fsGroup is: of root and that group, and anyone may write. */
  function mountFolder(path: string): void {
    mkdirSync(path, { recursive: true });
    chmodSync(path, 0o2777);
    if (isRoot) chownSync(path, 0, POD_USER);
  }

  const start = (container: KubernetesObject, env: Record<string, string>): Promise<TestGateway> =>
    // Free ports in place of those of the pod.
    startGateway({
      env: { ...env, GATEWAY_SERVER__HOST: '127.0.0.1' },
      args: container.args,
      cwd: tmpdir(),
      ...(isRoot && { uid: POD_USER }),
    });

  const probe = async (gateway: TestGateway, { httpGet }: KubernetesObject): Promise<number> =>
    (await fetch(gateway.base + String(httpGet.path))).status;

  it('updates the schema, starts, is ready, and drains within its time', async () => {
    const settings = { GATEWAY_PROXY__DRAIN_GRACE_MS: 2_000, GATEWAY_PROXY__DRAIN_TIMEOUT_MS: 5_000 };
    const pod = podOf(renderer.chart({ settings }));
    const [migrate] = pod.initContainers;
    const [container] = pod.containers;
    const mounts = mkdtempSync(join(folder, 'mounts-'));
    chmodSync(mounts, 0o755);
    const env = environmentOf(container, mounts);
    expect(environmentOf(migrate, mounts)).toEqual(env);
    // Without it the start says what is missing.
    await expect(start(container, env)).rejects.toThrow(/migrate/);
    // Both pods of a roll-out at once.
    const migrated = [0, 1].map(() =>
      spawnSync(process.execPath, [MAIN, ...migrate.args], {
        env: { ...process.env, ...env },
        encoding: 'utf8',
      }),
    );
    expect(migrated.map(({ status }) => status)).toEqual([0, 0]);
    const origin = await startOrigin((_request, response) => response.end('ok'));
    const gateway = await start(container, env);
    expect(await probe(gateway, container.startupProbe)).toBe(200);
    expect(await probe(gateway, container.livenessProbe)).toBe(200);
    expect(await probe(gateway, container.readinessProbe)).toBe(200);
    const warnings = gateway.logs().filter(({ level }) => level === 'warn' || Number(level) >= 40);
    expect(warnings.map(({ msg }) => msg)).toEqual([]);
    await createService(gateway, 'shop', origin.port);
    const stopping = performance.now();
    gateway.process.kill('SIGTERM');
    await until(async () => (await probe(gateway, container.readinessProbe)) === 503);
    // A part of the cluster that has not heard of it yet.
    expect((await request(gateway, '/shop/v1/x')).status).toBe(200);
    expect(await gateway.stop()).toBe(0);
    expect(performance.now() - stopping).toBeLessThan(pod.terminationGracePeriodSeconds * 1_000);
    await origin.close();
  });

  it('serves the files of the ConfigMap', async () => {
    const origin = await startOrigin((_request, response) => response.end('ok'));
    const text = `apps: {shop: {gateway_path: /shop, versions: {v1: {revisions: {r1: {backend_scheme: http, backend_host: 127.0.0.1, backend_port: ${origin.port}, is_current: true}}}}}}\n`;
    const objects = renderer.chart({ configuration: { from: 'files', files: { 'gateway.yaml': text } } });
    const [container] = podOf(objects).containers;
    const mounts = mkdtempSync(join(folder, 'mounts-'));
    chmodSync(mounts, 0o755);
    const env = environmentOf(container, mounts);
    const { data } = named(objects, 'ConfigMap', 'headgate-configuration');
    for (const [name, content] of Object.entries<string>(data))
      writeFileSync(join(mounts, '/etc/headgate/configuration', name), content);
    const gateway = await start(container, env);
    expect(await probe(gateway, container.readinessProbe)).toBe(200);
    expect((await request(gateway, '/shop/v1/x')).status).toBe(200);
    expect(await gateway.stop()).toBe(0);
    await origin.close();
  });
});
