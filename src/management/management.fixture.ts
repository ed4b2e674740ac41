/**
 * Starts the management API for tests: a real SQLite database in memory, real HTTP on a free loopback port, a clock
 * that the test controls. What would be sent to the workers is kept in `published`.
 */
import { LiveHub } from '../explain/live/live-hub.ts';
import pino from 'pino';
import { afterAll, beforeEach } from 'vitest';
import { SECRET_PLACES } from '../policy/secret-places.ts';
import { timestamp, type Clock } from '../lib/clock.ts';
import { ConfigState } from '../control/cluster/config-state.ts';
import type { ConfigChange } from '../model/config.ts';
import type { Revision } from '../model/resources.ts';
import type { RevisionHealth } from './schemas/revision-health.ts';
import { openSqlite } from '../storage/sqlite/sqlite.ts';
import type { Repository } from '../storage/repository.ts';
import { convert } from './import/conversion.ts';
import type { ManagementListening } from './listening.ts';
import { createManagementServer, type ManagementDependencies } from './server.ts';

export const ADMIN_TOKEN = 'the-admin-token-of-the-tests';
/** 2026-01-01T00:00:00Z. */
export const START_MS = 1_767_225_600_000;

export interface ManualClock extends Clock {
  advance(ms: number): void;
  reset(): void;
}

export function manualClock(): ManualClock {
  let now = START_MS;
  return {
    nowMs: () => now,
    monotonicMs: () => now - START_MS,
    advance(ms) {
      now += ms;
    },
    reset() {
      now = START_MS;
    },
  };
}

/** Anything JSON; tests look into it freely. */
// oxlint-disable-next-line typescript/no-explicit-any -- answers are read by path and compared in the tests
export type Json = any;

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Json;
}

interface CallOptions {
  /** null: without Authorization. */
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string or buffer is sent unchanged. */
  readonly body?: unknown;
}

export interface Fixture {
  readonly url: string;
  readonly port: number;
  readonly listening: ManagementListening;
  readonly repository: Repository;
  readonly clock: ManualClock;
  readonly published: ConfigChange[];
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  get(path: string, options?: CallOptions): Promise<Reply>;
  post(path: string, body?: unknown, options?: CallOptions): Promise<Reply>;
  patch(path: string, body: unknown, options?: CallOptions): Promise<Reply>;
  delete(path: string, options?: CallOptions): Promise<Reply>;
  /** Restores an empty configuration at the first moment; only the audit log stays. */
  reset(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The health of a backend that refuses connections. */
export function sampleHealth({ id }: Revision): RevisionHealth {
  const at = timestamp(0);
  const detail = 'cannot connect (ECONNREFUSED)';
  return {
    revision_id: id,
    state: 'open',
    since: at,
    consecutive_failures: 5,
    openings: 1,
    traffic_share: 0,
    probing: 'while_open',
    last_error: { at, kind: 'connect', detail, request_id: 'r-1' },
    last_probe: { at, ok: false, status: null, duration_ms: 3, error: detail },
    history: [{ at, from: 'closed', to: 'open', event: 'failure', detail, request_id: 'r-1' }],
  };
}

export async function startManagement(overrides: Partial<ManagementDependencies> = {}): Promise<Fixture> {
  const clock = manualClock();
  const repository =
    overrides.repository ??
    (await openSqlite({ secretPlaces: SECRET_PLACES, path: ':memory:', autoMigrate: true, clock }));
  const published: ConfigChange[] = [];
  const served = new ConfigState();
  const server = await createManagementServer({
    repository,
    publish: async (change) => {
      served.apply(change);
      published.push(change);
    },
    validateChange: () => undefined,
    settle: async () => ({ applied: 1, nodes: 1 }),
    clock,
    adminToken: ADMIN_TOKEN,
    authFailuresPerMinute: 0,
    sessions: { idleSecs: 3_600, maxSecs: 43_200 },
    isTrustedProxy: () => false,
    swaggerEnabled: false,
    policyGlobals: undefined,
    limitSettings: { globals: undefined, perIp: undefined, maxBodyBytes: 0 },
    egress: { hostDenial: () => undefined },
    jwtDefaults: {
      issuer: undefined,
      audiences: [],
      jwksUri: undefined,
      secret: undefined,
      algorithms: [],
      leewaySecs: 0,
    },
    status: {
      dbDriver: 'sqlite',
      fallback: () => undefined,
      configFile: () => undefined,
      limits: () => undefined,
      heartbeat: () => undefined,
      clock: () => undefined,
      secrets: () => undefined,
      certificates: () => undefined,
      certificateNames: () => undefined,
      ownCertificates: { list: () => [], areOrdered: false, isOrdered: () => false, look: () => undefined },
      clientCertificateNames: () => [],
      readsTargetFiles: true,
      trusted: { names: () => [], problemOf: () => undefined, hasTls: () => true },
      uptimeSecs: () => 42.9,
      ready: () => ({ ready: true, reason: undefined }),
      breakerState: () => undefined,
      revisionHealth: sampleHealth,
      stats: undefined,
      states: async () => [],
      problems: async () => [],
    },
    nodes: { selfId: 'self', selfName: 'self', list: async () => [] },
    shadow: {
      read: async () => ({ sinceMs: 0, fromMs: 0, total: 0, byPart: {}, rows: [] }),
      reset: async () => undefined,
    },
    explain: {
      describe: async () => undefined,
      recorded: async () => undefined,
      recordedRequest: async () => undefined,
      sampling: () => undefined,
      startSampling: (appId, rate) => ({ app_id: appId, rate, until: timestamp(clock.nowMs()) }),
      stopSampling: () => undefined,
      listTokens: () => [],
      createToken: () => undefined,
      allowToken: () => undefined,
      deleteToken: () => false,
      publish: async () => undefined,
    },
    live: new LiveHub({ clock }),
    testWebhook: async (webhook) => ({
      event: {
        id: webhook.id,
        type: 'webhook.test',
        at: timestamp(clock.nowMs()),
        node: null,
        subject: { kind: 'webhook', id: webhook.id, name: webhook.name },
        data: {},
      },
      outcome: { result: 'delivered', status: 200, error: '', latencyMs: 1 },
    }),
    profiles: {
      start: () => 'no_worker',
      workers: () => [2, 1],
      close: () => undefined,
      reopen: () => undefined,
    },
    trials: {
      replayTraffic: async () => ({ problem: undefined, result: undefined }),
      explainConfigs: async () => undefined,
    },
    convertDescription: async (job) => convert(job),
    settings: [],
    served,
    ownListener: async () => undefined,
    metricsText: async () => '# HELP up Up.\n',
    logger: pino({ level: 'silent' }),
    version: '1.2.3',
    ...overrides,
  });
  const { port } = await server.listen('127.0.0.1', 0);
  const url = `http://127.0.0.1:${port}`;
  const call: Fixture['call'] = async (method, path, options = {}) => {
    const { token = ADMIN_TOKEN, body } = options;
    const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(url + (path.startsWith('/api/') ? path : `/api/v1${path}`), {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
    });
    const text = await response.text();
    const json = /json/.test(response.headers.get('content-type') ?? '') && text !== '';
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: json ? JSON.parse(text) : undefined,
    };
  };
  return {
    url,
    port,
    listening: server,
    repository,
    clock,
    published,
    call,
    get: (path, options) => call('GET', path, options),
    post: (path, body, options) => call('POST', path, { ...options, body }),
    patch: (path, body, options) => call('PATCH', path, { ...options, body }),
    delete: (path, options) => call('DELETE', path, options),
    async reset() {
      await repository.write(async (writer) => {
        const all = { limit: 500, after: undefined };
        const apps = await writer.listApps(all);
        for (const { id } of apps.items) await writer.deleteApp(id);
        for (const { id } of (await writer.listAdminTokens(all)).items) await writer.deleteAdminToken(id);
        await writer.deleteExpiredSessions({ now: '9', unusedSince: '9' });
        return {
          value: undefined,
          touched: { appIds: apps.items.map(({ id }) => id), versionIds: [], keyIds: [] },
        };
      });
      served.apply(await repository.loadAll());
      published.length = 0;
      clock.reset();
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      // A repository that the test provided is closed by the test.
      if (overrides.repository === undefined) await repository.close();
    },
  };
}

export const BILLING = { name: 'Billing', slug: 'billing', gateway_path: '/billing' };
export const VERSION = '/apps/billing/versions/v1';
export const REVISION = `${VERSION}/revisions/r1`;

/** App `billing` with version `v1` and revision `r1`. */
export async function createBilling(api: Fixture): Promise<{ app: Json; version: Json; revision: Json }> {
  const app = await api.post('/apps', BILLING);
  const version = await api.post('/apps/billing/versions', { version: 'v1' });
  const revision = await api.post(`${VERSION}/revisions`, { revision: 'r1', backend_host: 'backend.test' });
  for (const made of [app, version, revision]) {
    if (made.status !== 201) throw new Error(`The fixture could not be made: ${made.text}`);
  }
  return { app: app.body.data, version: version.body.data, revision: revision.body.data };
}

/**
 * The management API that all tests of a file share, emptied before each of them; call it at the top of the
 * file.
 * @param prepare creates what each test starts with
 */
export async function sharedManagement(prepare?: (api: Fixture) => Promise<unknown>): Promise<Fixture> {
  const api = await startManagement();
  afterAll(() => api[Symbol.asyncDispose]());
  beforeEach(async () => {
    await api.reset();
    await prepare?.(api);
  });
  return api;
}

/** `[status, code, pointers]` of a problem, for tables. */
export function verdict(reply: Reply): [number, string, string[]] {
  const errors = (reply.body?.errors ?? []) as { pointer: string }[];
  return [reply.status, String(reply.body?.code), errors.map((error) => error.pointer)];
}
