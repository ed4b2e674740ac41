/**
 * Rules of gateway paths over several records. They apply to apps with a common host, and to apps without hosts: a path
 * is unique among all versions and among all apps, and no version may use the path of another app. Also creates the
 * default path of a version. Reads the repository, stores nothing.
 */
import type { App, Version } from '../../../model/resources.ts';
import type { FieldError } from '../../../model/errors.ts';
import { parseGatewayPath } from '../../../config/path-patterns.ts';
import type { ConfigReader, HostsOwner } from '../../../storage/repository.ts';
import { PAGE_LIMIT_MAX } from '../../schemas/common.ts';
import { conflict, invalid, type Failure } from '../../api/failure.ts';

const POINTER = '/gateway_path';

export function gatewayPathFailure(path: string): Failure | undefined {
  const parsed = parseGatewayPath(path);
  return 'error' in parsed ? invalid([{ pointer: POINTER, detail: parsed.error }]) : undefined;
}

export function defaultGatewayPath(app: Pick<App, 'gateway_path'>, versionLabel: string): string {
  return `${app.gateway_path === '/' ? '' : app.gateway_path}/${versionLabel}`;
}

/** 409 when another app, or a version of another app, has the path. */
export async function appPathConflict(
  reader: ConfigReader,
  path: string,
  owner: HostsOwner,
): Promise<Failure | undefined> {
  const app = await reader.findAppAt(path, owner);
  if (app !== undefined) return takenByApp(path, app, owner);
  const version = await reader.findVersionAt(path, owner);
  return version === undefined ? undefined : takenByVersion(reader, path, version, owner);
}

/** 409 when another version or app has the path. A version may have the path of its own app. */
export async function versionPathConflict(
  reader: ConfigReader,
  path: string,
  versionId: string,
  owner: HostsOwner,
): Promise<Failure | undefined> {
  const own = await reader.findOwnVersionAt(path, owner.appId);
  if (own !== undefined && own.id !== versionId)
    return taken(path, `the version "${own.version}" (${own.id})`);
  const other = await reader.findVersionAt(path, owner);
  if (other !== undefined) return takenByVersion(reader, path, other, owner);
  const app = await reader.findAppAt(path, owner);
  return app === undefined ? undefined : takenByApp(path, app, owner);
}

/**
 * 409 when a path of the app's versions would be that of another app, which has a host in common with it.
 * @param isMoving the gateway path of the app changes, too: the versions with a default path get another one
 */
export async function hostsConflict(
  reader: ConfigReader,
  owner: HostsOwner,
  isMoving: boolean,
): Promise<Failure | undefined> {
  let after: string | undefined;
  do {
    const page = await reader.listVersions(owner.appId, { limit: PAGE_LIMIT_MAX, after });
    for (const { id, gateway_path: path, gateway_path_is_default: isDefault } of page.items) {
      if (isMoving && isDefault) continue;
      const failure = await versionPathConflict(reader, path, id, owner);
      if (failure !== undefined) return { ...failure, errors: atHosts(failure) };
    }
    after = page.nextAfter ?? undefined;
  } while (after !== undefined);
  return undefined;
}

const atHosts = ({ errors = [] }: Failure): FieldError[] =>
  errors.map(({ detail }) => ({ pointer: '/hosts', detail: `cannot have these values: ${detail}` }));

async function takenByVersion(
  reader: ConfigReader,
  path: string,
  version: Version,
  owner: HostsOwner,
): Promise<Failure> {
  const app = await reader.findApp(version.app_id);
  const of = app === undefined ? '' : ` of the app "${app.slug}"${atHost(app, owner)}`;
  return taken(path, `the version "${version.version}" (${version.id})${of}`);
}

function takenByApp(path: string, app: App, owner: HostsOwner): Failure {
  return taken(path, `the app "${app.slug}"${atHost(app, owner)}`);
}

/** The common host in words; '' for apps without hosts. */
function atHost({ hosts }: App, owner: HostsOwner): string {
  const own = new Set(owner.hosts);
  const common = hosts.find((host) => own.has(host));
  return common === undefined ? '' : ` at the host "${common}"`;
}

function taken(path: string, owner: string): Failure {
  return conflict(POINTER, `"${path}" is already taken by ${owner}`);
}
