/**
 * Headgate itself, as its program runs for an operator, configured through its management API. What would take the
 * API long (a hundred thousand endpoints, a million keys) lies in the database before the start: see database.ts.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Policy } from '../../src/policy/registry.ts';
import { writeDatabase, type Filler } from '../database.ts';
import { freePort, newFolder, startProgram, type RunningProgram } from '../processes.ts';
import { startFlags } from '../../test/support/programs/start-flags.ts';
import type { Peer, PeerSetup } from './peer.ts';

const CHECKOUT = join(import.meta.dirname, '../..');
export const ADMIN_TOKEN = 'bench-admin-token-0123456789abcdef0123456789';
/** A million keys take their time to be read. */
const START_TIMEOUT_MS = 120_000;
const SNAPSHOT_TIMEOUT_MS = 120_000;

export interface RunningHeadgate extends RunningProgram {
  readonly startedInMs: number;
  /** Origin of the management API and the console, such as `http://127.0.0.1:9090`. */
  readonly base: string;
  /** A management call below /api/v1; throws unless it succeeds; gives `data`. */
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of the API are looked into freely
  api(method: string, path: string, body?: unknown): Promise<any>;
  metrics(): Promise<string>;
}

export interface HeadgateOptions {
  /** What is configured beside the service that is measured. */
  readonly filler?: Filler;
  /** Whether it is waited for what the main thread does after a start with a filler; by default it is. */
  readonly settles?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** Another checkout to run instead of this one. */
  readonly checkout?: string;
  /** For Node.js itself. */
  readonly nodeArguments?: readonly string[];
}

export async function startHeadgate(
  setup: PeerSetup,
  options: HeadgateOptions = {},
): Promise<RunningHeadgate> {
  const folder = newFolder('headgate');
  const database = join(folder, 'headgate.db');
  if (options.filler !== undefined) {
    const write = await databaseWriter(options.checkout);
    await write(database, options.filler, setup.originPort);
  }
  const port = await freePort();
  const managementPort = await freePort();
  const begunMs = performance.now();
  const program = await startProgram({
    name: 'headgate',
    command: commandOf(options),
    cores: setup.cores.proxy,
    folder,
    port,
    startTimeoutMs: START_TIMEOUT_MS,
    ...(setup.logToPipe === true && { pipeReaderCores: setup.cores.load }),
    env: {
      NODE_ENV: 'production',
      GATEWAY_DATABASE_URL: `sqlite://${database}`,
      GATEWAY_SERVER__PORT: String(managementPort),
      GATEWAY_PROXY__HOST: '127.0.0.1',
      GATEWAY_PROXY__PORT: String(port),
      GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
      GATEWAY_WORKERS: String(setup.workers),
      GATEWAY_LOG__ACCESS: String(setup.accessLog),
      ...options.env,
    },
  });
  const base = `http://127.0.0.1:${managementPort}`;
  const startedInMs = performance.now() - begunMs;
  if (options.filler !== undefined && options.settles !== false) await untilExists(`${database}.snapshot`);
  return {
    ...program,
    startedInMs,
    base,
    api: (method, path, body) => call(`${base}/api/v1${path}`, method, body),
    metrics: async () => (await request(`${base}/metrics`, 'GET', undefined)).text(),
  };
}

/** Of the checkout that is to read it: an older one knows an older schema. */
async function databaseWriter(checkout = CHECKOUT): Promise<typeof writeDatabase> {
  if (checkout === CHECKOUT) return writeDatabase;
  const path = join(checkout, 'bench/database.ts');
  if (!existsSync(path)) return writeDatabase;
  return ((await import(path)) as { readonly writeDatabase: typeof writeDatabase }).writeDatabase;
}

/** The main thread writes the snapshot file once after a start: that is no part of what requests cost. */
async function untilExists(path: string): Promise<void> {
  const deadlineMs = performance.now() + SNAPSHOT_TIMEOUT_MS;
  while (!existsSync(path)) {
    if (performance.now() > deadlineMs) throw new Error(`${path} was not written`);
    await pause(100);
  }
}

/**
 * As `npm start` does, from the bundle. From the sources where Node.js is to have arguments of its own. Another
 * checkout may be less than a whole one: it has a bundle made of it where it can make one.
 */
function commandOf({ checkout, nodeArguments = [] }: HeadgateOptions): readonly string[] {
  if (checkout === undefined && nodeArguments.length === 0) return ['sh', join(CHECKOUT, 'scripts/start.sh')];
  const bundle = nodeArguments.length === 0 && checkout !== undefined ? bundleOf(checkout) : undefined;
  const root = checkout ?? CHECKOUT;
  return [process.execPath, ...startFlags(root), ...nodeArguments, bundle ?? join(root, 'src/main.ts')];
}

const bundles = new Map<string, string>();

function bundleOf(checkout: string): string | undefined {
  const known = bundles.get(checkout);
  if (known !== undefined) return known;
  const build = join(checkout, 'scripts/build.ts');
  if (!existsSync(build)) return undefined;
  const folder = newFolder('bundle');
  execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', build, folder]);
  const main = join(folder, 'src/main.js');
  bundles.set(checkout, main);
  return main;
}

export interface ServiceOptions {
  readonly slug: string;
  readonly originPort: number;
  readonly policy?: Policy;
  /** Method and path of endpoints; with any of them the app is in managed mode. */
  readonly endpoints?: readonly (readonly [method: string, path: string])[];
  readonly stripGatewayPath?: boolean;
  /** Makes an API key with these scopes. */
  readonly keyScopes?: readonly string[];
}

/** An app at `/<slug>` with version `v1` and one current revision; gives the API key, '' without one. */
export async function createService(gateway: RunningHeadgate, options: ServiceOptions): Promise<string> {
  const { slug, originPort, policy, endpoints = [], stripGatewayPath = true, keyScopes } = options;
  await gateway.api('POST', '/apps', {
    name: slug,
    slug,
    gateway_path: `/${slug}`,
    routing_mode: endpoints.length > 0 ? 'managed_endpoint' : 'pass_through',
    ...(policy === undefined ? {} : { default_policy: policy }),
  });
  await gateway.api('POST', `/apps/${slug}/versions`, { version: 'v1' });
  await gateway.api('POST', `/apps/${slug}/versions/v1/revisions`, {
    revision: 'r1',
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    backend_port: originPort,
    strip_gateway_path: stripGatewayPath,
    is_current: true,
  });
  const collection = `/apps/${slug}/versions/v1/revisions/r1/endpoints`;
  for (const [method, path] of endpoints) await gateway.api('POST', collection, { method, path });
  if (keyScopes === undefined) return '';
  return String(
    (await gateway.api('POST', `/apps/${slug}/tokens`, { name: 'bench', scopes: keyScopes })).token,
  );
}

/** A contestant that starts Headgate with one service; `onKey` gets the service's API key. */
export function headgatePeer(
  name: string,
  service: Omit<ServiceOptions, 'originPort'>,
  options: HeadgateOptions = {},
  onKey: (token: string) => void = () => undefined,
): Peer {
  return {
    name,
    start: async (setup) => {
      const gateway = await startHeadgate(setup, options);
      onKey(await createService(gateway, { ...service, originPort: setup.originPort }));
      return gateway;
    },
  };
}

// oxlint-disable-next-line typescript/no-explicit-any -- see RunningHeadgate.api
async function call(url: string, method: string, body: unknown): Promise<any> {
  const response = await request(url, method, body);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}: ${text}`);
  return text === '' ? undefined : (JSON.parse(text) as { readonly data: unknown }).data;
}

function request(url: string, method: string, body: unknown): Promise<Response> {
  return fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}
