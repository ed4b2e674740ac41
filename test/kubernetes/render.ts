/** The packaged chart and the Kustomize base, rendered by helm and kustomize, and checked by kubeconform. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { madePackages } from '../support/programs/made-package.ts';
import { goProgram } from '../support/programs/go-tools.ts';
import { writeSchemas } from './schemas.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const KUSTOMIZE = join(ROOT, 'deploy/kustomize');
/** Helm as it is built here takes itself for an old one otherwise. */
const KUBERNETES_VERSION = '1.34.1';

export const helmProgram = (): string => goProgram('helm', 'helm.sh/helm/v3/cmd/helm@v3.22.0');

// oxlint-disable-next-line typescript/no-explicit-any -- looked into freely by tests
export type KubernetesObject = any;

interface Output {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(program: string, args: readonly string[], input?: string): Output {
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    input,
    maxBuffer: 64 * 1_048_576,
  });
  return { code: status, stdout, stderr };
}

export interface Renderer {
  /** The package of the chart, as users install it. */
  readonly chartPath: string;
  lint(): Output;
  /** What `helm template` says; `values` as in a file of values. */
  template(values: object): Output;
  chart(values: object): KubernetesObject[];
  /** @param path below deploy/kustomize */
  kustomize(path: string): KubernetesObject[];
  /** What kubeconform has to say against these objects; undefined: nothing. */
  problems(objects: readonly KubernetesObject[]): string | undefined;
}

/** Read as Kubernetes does: `on` and `0123` without quotes are no texts. */
const documents = (text: string): KubernetesObject[] =>
  parseAllDocuments(text, { version: '1.1' })
    .map((document) => (document as { toJS(): KubernetesObject }).toJS())
    .filter((object) => object !== null);

/** @param folder for schemas and values; it is the caller's */
export function prepareRenderer(folder: string): Renderer {
  const helm = helmProgram();
  const kustomize = goProgram('kustomize', 'sigs.k8s.io/kustomize/kustomize/v5@v5.7.1');
  const kubeconform = goProgram('kubeconform', 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0');
  const location = writeSchemas(mkdtempSync(join(folder, 'schemas-')));
  const [chartPath = ''] = madePackages(folder, 'chart');
  const template = (values: object): Output => {
    const file = join(mkdtempSync(join(folder, 'values-')), 'values.yaml');
    // JSON, since these programs read more texts as numbers and truth values than YAML 1.2 does.
    writeFileSync(file, JSON.stringify(values));
    return run(helm, ['template', 'headgate', chartPath, '--kube-version', KUBERNETES_VERSION, '-f', file]);
  };
  const rendered = ({ code, stdout, stderr }: Output): KubernetesObject[] => {
    if (code !== 0) throw new Error(`Cannot render: ${stderr}`);
    return documents(stdout);
  };
  return {
    chartPath,
    lint: () => run(helm, ['lint', '--strict', '--kube-version', KUBERNETES_VERSION, chartPath]),
    template,
    chart: (values) => rendered(template(values)),
    kustomize: (path) => rendered(run(kustomize, ['build', join(KUSTOMIZE, path)])),
    problems: (objects) => {
      const text = objects.map((object) => JSON.stringify(object)).join('\n---\n');
      const { code, stdout, stderr } = run(
        kubeconform,
        ['-strict', '-summary', '-schema-location', location],
        text,
      );
      const summary = `Summary: ${objects.length} resources found parsing stdin - Valid: ${objects.length}, Invalid: 0, Errors: 0, Skipped: 0`;
      return code === 0 && stdout.includes(summary) ? undefined : `${stdout}${stderr}`;
    },
  };
}
