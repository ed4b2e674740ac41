/**
 * The API server of Kubernetes with a store of its own (etcd), without controllers and nodes: objects are decoded,
 * defaulted, validated, admitted and stored as in a cluster, and nothing runs. Both are built from their modules the
 * first time, which takes minutes.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { freePorts } from '../support/backends/origin-process.ts';
import { until } from '../support/measure/until.ts';
import { goModule, goProgramWith } from '../support/programs/go-tools.ts';
import { plainEnvironment } from '../support/programs/programs.ts';
import type { KubernetesObject } from './render.ts';
import { KUBERNETES } from './schemas.ts';

const TOKEN = 'of-the-tests';
const START_MS = 60_000;

export interface Answer {
  readonly status: number;
  readonly body: KubernetesObject;
  /** What `kubectl` would show as warnings. */
  readonly warnings: readonly string[];
}

export interface ApiServer {
  /** A file for programs that ask it, as an administrator. */
  readonly kubeconfig: string;
  ask(method: string, path: string, body?: unknown): Promise<Answer>;
  /**
   * Applies it on the server, which refuses fields that it does not know.
   * @param namespace in place of its own, for a kind that has namespaces
   * @param options such as `&dryRun=All`
   */
  apply(object: KubernetesObject, namespace: string, options?: string): Promise<Answer>;
  close(): Promise<void>;
}

interface Programs {
  readonly etcd: string;
  readonly server: string;
}

/**
 * From one go.mod: what the module of Kubernetes requires, with its own parts as the modules that they are published
 * as.
 */
function programs(): Programs {
  const version = KUBERNETES.slice(KUBERNETES.indexOf('@') + 1);
  const ofParts = version.replace(/^v1\./, 'v0.');
  const text = readFileSync(join(goModule(KUBERNETES), 'go.mod'), 'utf8');
  const required = [...text.matchAll(/^require \([^]*?^\)/gm)].map(([block]) =>
    block.replaceAll(/ v0\.0\.0$/gm, ` ${ofParts}`),
  );
  const parts = [...text.matchAll(/^\t(k8s\.io\/\S+) => \.\/staging/gm)].map(([, name = '']) => name);
  const [, etcdVersion = ''] = /go\.etcd\.io\/etcd\/server\/v3 (\S+)/.exec(text) ?? [];
  const goMod = `module headgate.test/cluster

go 1.24.0

require k8s.io/kubernetes ${version}
${required.join('\n')}
replace (
${parts.map((name) => `\t${name} => ${name} ${ofParts}`).join('\n')}
)
`;
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
  const flags = Object.entries({ gitVersion: version, gitMajor: major, gitMinor: minor })
    .map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
    .join(' ');
  return {
    etcd: goProgramWith('etcd', etcdVersion, 'go.etcd.io/etcd/server/v3', goMod),
    server: goProgramWith('kube-apiserver', version, 'k8s.io/kubernetes/cmd/kube-apiserver', goMod, flags),
  };
}

export async function startApiServer(): Promise<ApiServer> {
  const { etcd, server } = programs();
  const folder = mkdtempSync(join(tmpdir(), 'headgate-api-server-'));
  const [port = 0, storePort = 0, peerPort = 0] = await freePorts(3);
  const started: Started[] = [];
  const close = async (): Promise<void> => {
    for (const each of started.toReversed()) await each.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const store = `http://127.0.0.1:${storePort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  writeFileSync(join(folder, 'tokens.csv'), `${TOKEN},admin,admin,system:masters\n`);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  writeFileSync(join(folder, 'accounts.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }));
  started.push(
    start(folder, etcd, {
      'data-dir': 'etcd',
      'listen-client-urls': store,
      'advertise-client-urls': store,
      'listen-peer-urls': peer,
      'initial-advertise-peer-urls': peer,
      'initial-cluster': `default=${peer}`,
      'unsafe-no-fsync': 'true',
    }),
    start(folder, server, {
      'etcd-servers': store,
      'cert-dir': 'certificates',
      'secure-port': String(port),
      'bind-address': '127.0.0.1',
      'service-account-issuer': 'https://kubernetes.default.svc',
      'service-account-key-file': 'accounts.key',
      'service-account-signing-key-file': 'accounts.key',
      'service-cluster-ip-range': '10.0.0.0/16',
      'token-auth-file': 'tokens.csv',
      'authorization-mode': 'RBAC',
    }),
  );
  const authority = join(folder, 'certificates/apiserver.crt');
  const ask = async (method: string, path: string, body?: unknown): Promise<Answer> =>
    send(port, readFileSync(authority, 'utf8'), method, path, body);
  try {
    await until(
      async () => {
        const ended = started.find((each) => each.hasEnded());
        if (ended !== undefined) throw new Error(`A part of the API server ended:\n${ended.output()}`);
        return ask('GET', '/readyz').then(
          ({ status }) => status === 200,
          () => false,
        );
      },
      START_MS,
      200,
      'the API server is ready',
    );
  } catch (error) {
    await close();
    throw error;
  }
  return { kubeconfig: kubeconfig(folder, port, authority), ask, apply: applier(ask), close };
}

interface Started {
  stop(): Promise<void>;
  hasEnded(): boolean;
  output(): string;
}

function start(folder: string, program: string, flags: Readonly<Record<string, string>>): Started {
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const child: ChildProcess = spawn(program, args, {
    cwd: folder,
    env: plainEnvironment(folder),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-4_000)));
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  return {
    hasEnded: () => child.exitCode !== null,
    output: () => output,
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function kubeconfig(folder: string, port: number, authority: string): string {
  const path = join(folder, 'kubeconfig');
  const server = { server: `https://127.0.0.1:${port}`, 'certificate-authority': authority };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: server }],
    users: [{ name: 'test', user: { token: TOKEN } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  };
  writeFileSync(path, stringify(config), { mode: 0o600 });
  return path;
}

function send(port: number, ca: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const type = method === 'PATCH' ? 'application/apply-patch+yaml' : 'application/json';
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': type };
    const sent = request({ host: '127.0.0.1', port, ca, method, path, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.on('end', () => {
        const isJson = answer.headers['content-type']?.startsWith('application/json') === true;
        const warnings = [answer.headers['warning'] ?? []].flat();
        resolve({ status: answer.statusCode ?? 0, body: isJson ? JSON.parse(text) : text, warnings });
      });
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Finds the path of a kind where the server says it is. */
function applier(ask: ApiServer['ask']): ApiServer['apply'] {
  return async (object, namespace, options = '') => {
    const base = object.apiVersion === 'v1' ? '/api/v1' : `/apis/${object.apiVersion}`;
    const { body } = await ask('GET', base);
    const found = (body.resources as { name: string; kind: string; namespaced: boolean }[] | undefined)?.find(
      ({ name, kind }) => kind === object.kind && !name.includes('/'),
    );
    if (found === undefined) throw new Error(`The server does not know ${object.apiVersion} ${object.kind}`);
    const place = found.namespaced ? `${base}/namespaces/${namespace}` : base;
    const query = `fieldManager=test&force=true&fieldValidation=Strict${options}`;
    const metadata = { ...object.metadata, ...(found.namespaced && { namespace }) };
    return ask('PATCH', `${place}/${found.name}/${metadata.name}?${query}`, { ...object, metadata });
  };
}
