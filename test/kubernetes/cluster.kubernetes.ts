/**
 * The chart and the Kustomize base on a real API server: what helm installs, upgrades, rolls back and removes there is
 * decoded, validated and admitted as in a cluster, with the definitions of the Prometheus operator, and pods under the
 * standard `restricted`. Nothing runs: chart.kubernetes.ts starts a gateway with what its container gets.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { until } from '../support/measure/until.ts';
import { goModule } from '../support/programs/go-tools.ts';
import { startApiServer, type Answer, type ApiServer } from './api-server.ts';
import { helmProgram, prepareRenderer, type KubernetesObject, type Renderer } from './render.ts';
import { OF_OPERATOR, OPERATOR } from './schemas.ts';
import { EVERYTHING, FILES } from './values.ts';

const NAMESPACE = 'edge';
/** Where `kubectl apply -k` is tried. */
const OTHER_NAMESPACE = 'other';
const BUILD_TIMEOUT_MS = 1_800_000;
const DEPLOYMENT = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/headgate`;
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;

let folder = '';
let renderer: Renderer;
let server: ApiServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-cluster-'));
  renderer = prepareRenderer(folder);
  server = await startApiServer();
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  for (const name of [NAMESPACE, OTHER_NAMESPACE])
    await taken({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
  await taken({
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: EVERYTHING.priorityClassName },
    value: 1_000,
  });
  for (const plural of OF_OPERATOR) await define(plural);
}, BUILD_TIMEOUT_MS);
afterAll(async () => {
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Without a word of the server about it. */
async function taken(object: KubernetesObject, namespace = NAMESPACE, options?: string): Promise<Answer> {
  const answer = await server.apply(object, namespace, options);
  expect([object.kind, answer.status < 300, answer.warnings], JSON.stringify(answer.body)).toEqual([
    object.kind,
    true,
    [],
  ]);
  return answer;
}

/** A kind of the Prometheus operator. */
async function define(plural: string): Promise<void> {
  const name = `example/prometheus-operator-crd/monitoring.coreos.com_${plural}.yaml`;
  const definition = parse(readFileSync(join(goModule(OPERATOR), name), 'utf8'));
  await taken(definition);
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${definition.metadata.name}`;
  await until(async () => {
    const { body } = await server.ask('GET', path);
    const found = body.status?.conditions as { type: string; status: string }[] | undefined;
    return found?.some(({ type, status }) => type === 'Established' && status === 'True');
  });
}

/** What helm says, which must end well. */
function helm(values: object, ...args: readonly string[]): string {
  const file = join(mkdtempSync(join(folder, 'values-')), 'values.yaml');
  writeFileSync(file, stringify(values));
  const withValues = ['install', 'upgrade'].includes(args[0] ?? '') ? [renderer.chartPath, '-f', file] : [];
  const { status, stdout, stderr } = spawnSync(
    helmProgram(),
    [...args.slice(0, 1), 'headgate', ...args.slice(1), ...withValues, '--namespace', NAMESPACE],
    { encoding: 'utf8', env: { ...process.env, KUBECONFIG: server.kubeconfig } },
  );
  expect([status, stderr]).toEqual([0, '']);
  return stdout;
}

async function deployment(): Promise<KubernetesObject> {
  const { status, body } = await server.ask('GET', DEPLOYMENT);
  expect(status).toBe(200);
  return body;
}

/** A pod as the Deployment would have it made. */
function podOf({ spec }: KubernetesObject): KubernetesObject {
  const { metadata, spec: pod } = spec.template;
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name: 'one' }, spec: pod };
}

describe('on a real API server', () => {
  it.each([
    ['by default', {}],
    ['with everything on', EVERYTHING],
    ['with files', FILES],
  ])('each object of the chart is taken, without a warning, %s', async (_name, values) => {
    const objects = renderer.chart(values);
    const stored: string[] = [];
    for (const object of objects)
      stored.push((await taken(object, NAMESPACE, '&dryRun=All')).body.metadata.name);
    expect(stored).toEqual(objects.map(({ metadata }) => metadata.name));
  });

  it('helm installs, upgrades to everything, rolls back and removes', async () => {
    expect(helm({}, 'install')).toContain('STATUS: deployed');
    const first = await deployment();
    // The same again changes nothing: no field is one that the server would write differently.
    helm({}, 'upgrade');
    expect((await deployment()).metadata.generation).toBe(first.metadata.generation);
    helm(EVERYTHING, 'upgrade');
    const all = await deployment();
    expect(all.metadata.generation).toBeGreaterThan(first.metadata.generation);
    helm(EVERYTHING, 'upgrade');
    expect((await deployment()).metadata.generation).toBe(all.metadata.generation);
    helm({}, 'rollback', '1');
    expect((await deployment()).spec.template).toEqual(first.spec.template);
    helm(FILES, 'upgrade');
    helm({}, 'uninstall');
    for (const path of [DEPLOYMENT, `/api/v1/namespaces/${NAMESPACE}/services/headgate`])
      expect(await server.ask('GET', path)).toMatchObject({ status: 404 });
  });

  it.each([
    ['by default', {}],
    ['with everything on', EVERYTHING],
    ['with files', FILES],
  ])('a pod is admitted where only restricted ones are, %s', async (_name, values) => {
    const objects = renderer.chart(values);
    const account = objects.find(({ kind }) => kind === 'ServiceAccount');
    await taken(account);
    const pod = podOf(objects.find(({ kind }) => kind === 'Deployment'));
    expect(await server.ask('POST', `${PODS}?dryRun=All`, pod)).toMatchObject({ status: 201, warnings: [] });
    const [container] = pod.spec.containers;
    const asRoot = { ...container.securityContext, allowPrivilegeEscalation: true };
    const wrong = { ...pod, spec: { ...pod.spec, containers: [{ ...container, securityContext: asRoot }] } };
    const refused = await server.ask('POST', `${PODS}?dryRun=All`, wrong);
    expect([refused.status, refused.body.message]).toEqual([
      403,
      expect.stringContaining('violates PodSecurity "restricted:latest": allowPrivilegeEscalation'),
    ]);
  });

  it('refuses what schemas cannot say, and fields that it does not know', async () => {
    const [service] = renderer.chart({}).filter(({ kind }) => kind === 'Service');
    const ports = [...service.spec.ports, ...service.spec.ports];
    const twice = await server.apply({ ...service, spec: { ...service.spec, ports } }, NAMESPACE);
    expect([twice.status, JSON.stringify(twice.body)]).toEqual([
      expect.toSatisfy((status: number) => status >= 400),
      expect.stringMatching(/duplicate/i),
    ]);
    const monitor = renderer.chart(EVERYTHING).find(({ kind }) => kind === 'ServiceMonitor');
    const unknown = await server.apply({ ...monitor, spec: { ...monitor.spec, endpoint: [] } }, NAMESPACE);
    expect(unknown.status).toBeGreaterThanOrEqual(400);
  });

  it.each(['base', 'overlays/files'])('takes %s of Kustomize, and again without a change', async (path) => {
    const objects = renderer.kustomize(path);
    for (const object of objects) await taken(object, OTHER_NAMESPACE);
    for (const object of objects) {
      const { body } = await taken(object, OTHER_NAMESPACE);
      const again = await taken(object, OTHER_NAMESPACE);
      expect(again.body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
    }
  });
});
