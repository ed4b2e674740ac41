/**
 * Records of the configuration with every field filled in, for tests that care about a few of them.
 */
import type { AppTree, ConfigChange, RevisionTree, VersionTree } from '../../../src/model/config.ts';
import type { App, Endpoint, Revision, StoredApiKey, Version } from '../../../src/model/resources.ts';

const AT = '2026-01-01T00:00:00.000Z';
const base = { created_at: AT, updated_at: AT };

export function appRecord(fields: Partial<App> & { id: string }): App {
  return {
    ...base,
    name: fields.id,
    slug: fields.id,
    gateway_path: `/${fields.id}`,
    routing_mode: 'pass_through',
    default_policy: null,
    description: null,
    labels: {},
    hosts: [],
    allow_encoded_slashes: false,
    ...fields,
  };
}

export function versionRecord(fields: Partial<Version> & { id: string; app_id: string }): Version {
  return {
    ...base,
    version: fields.id,
    gateway_path: `/${fields.app_id}/${fields.id}`,
    gateway_path_is_default: false,
    status: 'active',
    sunset_at: null,
    deprecated_at: null,
    successor: null,
    ...fields,
  };
}

export function revisionRecord(fields: Partial<Revision> & { id: string }): Revision {
  return {
    ...base,
    version_id: 'v1',
    revision: fields.id,
    backend_scheme: 'http',
    backend_protocol: 'http1',
    backend_host: 'backend.example',
    backend_port: 8000,
    backend_base_path: '/',
    strip_gateway_path: true,
    preserve_host: false,
    traffic_weight: 100,
    health_check_path: null,
    default_policy: null,
    is_current: true,
    backend_tls: null,
    circuit_breaker: null,
    targets: null,
    discovery: null,
    load_balancing: null,
    ...fields,
  };
}

export function endpointRecord(fields: Partial<Endpoint> & { path: string }): Endpoint {
  const method = fields.method ?? 'GET';
  return {
    ...base,
    id: `${method} ${fields.path}`,
    revision_id: 'r1',
    method,
    backend_path: null,
    policy_override: null,
    is_active: true,
    ...fields,
  };
}

export function keyRecord(fields: Partial<StoredApiKey> & { id: string }): StoredApiKey {
  return {
    ...base,
    app_id: 'app',
    name: `key ${fields.id}`,
    scopes: [],
    token_prefix: 'hgk_abcd',
    is_active: true,
    expires_at: null,
    last_used_at: null,
    rate_limit: null,
    token_hash: fields.id.padStart(64, '0'),
    previous_token_hash: null,
    previous_expires_at: null,
    ...fields,
  };
}

export function versionTree(version: Version, ...revisions: RevisionTree[]): VersionTree {
  return { version, revisions };
}

export function appTree(app: App, ...versions: VersionTree[]): AppTree {
  return { app, versions };
}

export function configChange(configVersion: number, fields: Partial<ConfigChange>): ConfigChange {
  return {
    configVersion,
    reset: false,
    apps: [],
    removedAppIds: [],
    versions: [],
    removedVersionIds: [],
    keys: [],
    removedKeyIds: [],
    ...fields,
  };
}
