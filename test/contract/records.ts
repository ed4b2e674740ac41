/** Records for the contract suite: complete, valid, with ids that grow in the order of making. */
import { uuidv7 } from '../../src/lib/ids.ts';
import type { ChangeSet } from '../../src/model/config.ts';
import type { StoredSession } from '../../src/model/resources.ts';
import type {
  App,
  AuditEntry,
  Endpoint,
  Revision,
  StoredAdminToken,
  StoredApiKey,
  Version,
} from '../../src/model/resources.ts';
import type { ConfigReader, ConfigWriter, PageRequest, Repository } from '../../src/storage/repository.ts';

const EPOCH_MS = 1_700_000_000_000;
let counter = 0;

/** Each id sorts after all before it. */
export const nextId = (): string => uuidv7(EPOCH_MS + ++counter);
export const at = (second: number): string => new Date(EPOCH_MS + second * 1000).toISOString();
export const FIRST: PageRequest = { limit: 500, after: undefined };

const base = () => ({ id: nextId(), created_at: at(0), updated_at: at(0) });
const hash = (id: string): string => id.replaceAll('-', '').padEnd(64, '0');

export function makeApp(fields: Partial<App> = {}): App {
  const { id, ...times } = base();
  return {
    id,
    name: 'Billing',
    slug: `app-${counter}`,
    gateway_path: `/app-${counter}`,
    routing_mode: 'pass_through',
    default_policy: null,
    description: null,
    labels: {},
    hosts: [],
    allow_encoded_slashes: false,
    ...times,
    ...fields,
  };
}

export function makeVersion(app: App, fields: Partial<Version> = {}): Version {
  const { id, ...times } = base();
  return {
    id,
    app_id: app.id,
    version: `v${counter}`,
    gateway_path: `${app.gateway_path}/v${counter}`,
    gateway_path_is_default: true,
    status: 'active',
    sunset_at: null,
    deprecated_at: null,
    successor: null,
    ...times,
    ...fields,
  };
}

export function makeRevision(version: Version, fields: Partial<Revision> = {}): Revision {
  const { id, ...times } = base();
  return {
    id,
    version_id: version.id,
    revision: `r${counter}`,
    backend_scheme: 'https',
    backend_protocol: 'http1',
    backend_host: 'backend.example',
    backend_port: 443,
    backend_base_path: '/',
    strip_gateway_path: true,
    preserve_host: false,
    traffic_weight: 100,
    health_check_path: null,
    default_policy: null,
    is_current: false,
    backend_tls: null,
    circuit_breaker: null,
    targets: null,
    discovery: null,
    load_balancing: null,
    ...times,
    ...fields,
  };
}

export function makeEndpoint(revision: Revision, fields: Partial<Endpoint> = {}): Endpoint {
  const { id, ...times } = base();
  return {
    id,
    revision_id: revision.id,
    method: 'GET',
    path: `/things/${counter}`,
    backend_path: null,
    policy_override: null,
    is_active: true,
    ...times,
    ...fields,
  };
}

export function makeKey(app: App, fields: Partial<StoredApiKey> = {}): StoredApiKey {
  const { id, ...times } = base();
  return {
    id,
    app_id: app.id,
    name: 'mobile',
    scopes: [],
    token_prefix: 'hgk_abcdef',
    is_active: true,
    expires_at: null,
    last_used_at: null,
    rate_limit: null,
    token_hash: hash(id),
    previous_token_hash: null,
    previous_expires_at: null,
    ...times,
    ...fields,
  };
}

export function makeAdminToken(fields: Partial<StoredAdminToken> = {}): StoredAdminToken {
  const { id, ...times } = base();
  return {
    id,
    name: 'ci',
    role: 'editor',
    token_prefix: 'hga_abcdef',
    expires_at: null,
    last_used_at: null,
    token_hash: hash(id),
    ...times,
    ...fields,
  };
}

/** @param tokenId of its admin token; null: of GATEWAY_ADMIN_TOKEN */
export function makeSession(tokenId: string | null, fields: Partial<StoredSession> = {}): StoredSession {
  const { id, created_at } = base();
  return {
    id,
    value_hash: hash(id),
    kind: tokenId === null ? 'environment' : 'token',
    actor_id: tokenId ?? 'environment',
    actor_name: 'ci',
    admin_token_id: tokenId,
    proof: null,
    groups: null,
    address: '127.0.0.1',
    user_agent: 'Firefox',
    created_at,
    last_used_at: created_at,
    expires_at: at(1_000),
    ...fields,
  };
}

export function makeAudit(
  fields: Partial<Omit<AuditEntry, 'config_version'>> = {},
): Omit<AuditEntry, 'config_version'> {
  return {
    id: nextId(),
    at: at(0),
    actor: 'environment',
    action: 'app.create',
    resource_type: 'app',
    resource_id: nextId(),
    resource_name: 'billing',
    parents: { app: 'billing' },
    address: '192.0.2.1',
    request_id: 'r-1',
    change: null,
    ...fields,
  };
}

export const touched = (fields: Partial<ChangeSet>): ChangeSet => ({
  appIds: [],
  versionIds: [],
  keyIds: [],
  ...fields,
});

/** One write that only does `work`; the touched ids are given, or none. */
export async function change(
  repository: Repository,
  work: (writer: ConfigWriter) => Promise<unknown>,
  fields: Partial<ChangeSet> = {},
): ReturnType<typeof repository.write<undefined>> {
  return repository.write(async (writer) => {
    await work(writer);
    return { value: undefined, touched: touched(fields) };
  });
}

export interface Fixture {
  readonly app: App;
  readonly version: Version;
  readonly revision: Revision;
  readonly endpoint: Endpoint;
  readonly key: StoredApiKey;
}

/** One app with one of everything below it, written as config version 1. */
export async function seed(repository: Repository): Promise<Fixture> {
  const app = makeApp();
  const version = makeVersion(app);
  const revision = makeRevision(version);
  const endpoint = makeEndpoint(revision);
  const key = makeKey(app);
  await change(
    repository,
    async (writer) => {
      await writer.insertApp(app);
      await writer.insertVersion(version);
      await writer.insertRevision(revision);
      await writer.insertEndpoint(endpoint);
      await writer.insertKey(key);
      await writer.appendAudit(makeAudit({ resource_id: app.id }));
    },
    { appIds: [app.id], keyIds: [key.id] },
  );
  return { app, version, revision, endpoint, key };
}

/** Everything that a failed write must leave as it was. */
export async function stateOf(repository: Repository): Promise<unknown> {
  const everything = await repository.loadAll();
  const rest = await repository.read(async (reader: ConfigReader) => ({
    audit: await reader.listAudit(FIRST),
    adminTokens: await reader.listAdminTokens(FIRST),
  }));
  return { everything, ...rest };
}
