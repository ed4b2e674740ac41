/**
 * Rules of gateway paths over several records: each is unique over all versions, and over all apps, and no version
 * may take the path of another app. The default path of a version is made here. Asks the repository, stores nothing.
 */
import type { App, Version } from '../../../model/resources.ts';
import { parseGatewayPath } from '../../../config/path-patterns.ts';
import type { ConfigReader } from '../../../storage/repository.ts';
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
  appId: string,
): Promise<Failure | undefined> {
  const app = await reader.findAppByGatewayPath(path);
  if (app !== undefined && app.id !== appId) return taken(path, `the app "${app.slug}"`);
  const version = await reader.findVersionByGatewayPath(path);
  if (version !== undefined && version.app_id !== appId) return takenByVersion(path, version);
  return undefined;
}

/** 409 when another version or app has the path. A version may have the path of its own app. */
export async function versionPathConflict(
  reader: ConfigReader,
  path: string,
  version: Pick<Version, 'id' | 'app_id'>,
): Promise<Failure | undefined> {
  const other = await reader.findVersionByGatewayPath(path);
  if (other !== undefined && other.id !== version.id) return takenByVersion(path, other);
  const app = await reader.findAppByGatewayPath(path);
  if (app !== undefined && app.id !== version.app_id) return taken(path, `the app "${app.slug}"`);
  return undefined;
}

function takenByVersion(path: string, version: Version): Failure {
  return taken(path, `the version "${version.version}" (${version.id})`);
}

function taken(path: string, owner: string): Failure {
  return conflict(POINTER, `"${path}" is already taken by ${owner}`);
}
