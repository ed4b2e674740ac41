/**
 * Reads stored versions of the history, with an answer for versions that were never created or are no longer
 * stored.
 */
import type { AppState } from '../../model/history/config-history.ts';
import type { ConfigReader } from '../../storage/repository.ts';
import { fail, isFailure, notFound, type Failure } from '../api/failure.ts';
import { isLive } from '../declaration/declared-app.ts';
import type { StoredApp } from '../declaration/tree.ts';

const CONFIG_VERSION = /^(?:0|[1-9][0-9]{0,14})$/;

/** The config version in a path. */
export function configVersionOf(text: string | undefined): number | Failure {
  return text !== undefined && CONFIG_VERSION.test(text)
    ? Number(text)
    : notFound('config version', text ?? '');
}

/** All apps at a config version. */
export async function appsThen(
  reader: ConfigReader,
  configVersion: number,
  current: number,
): Promise<readonly AppState[] | Failure> {
  if (configVersion > current) return notYet(configVersion, current);
  return (await reader.appsAt(configVersion)) ?? notKept(reader, configVersion);
}

export async function notKept(reader: ConfigReader, configVersion: number): Promise<Failure> {
  const current = await reader.configVersion();
  if (configVersion > current) return notYet(configVersion, current);
  return fail('config_version_gone', whyNotKept(configVersion, await reader.historyFrom(), current));
}

function notYet(configVersion: number, current: number): Failure {
  return fail('not_found', `There is no config version "${configVersion}" here; the newest is ${current}`);
}

/** The history contains the state of its first version, but not the change that created it. */
function whyNotKept(configVersion: number, from: number, current: number): string {
  if (configVersion >= from)
    return `The changes of config version ${configVersion} are not kept; the history begins after it`;
  const kept =
    from === current ? `contains only the present version, ${current}` : `goes from ${from} to ${current}`;
  return `Config version ${configVersion} is not kept; the history ${kept}`;
}

/** The state as a dump of that time would show it: without keys that had expired. */
export async function declaredThen(
  reader: ConfigReader,
  configVersion: number,
  nowMs: number,
): Promise<readonly StoredApp[] | Failure> {
  const states = await appsThen(reader, configVersion, await reader.configVersion());
  if (isFailure(states)) return states;
  const entry = await reader.findHistory(configVersion);
  const atMs = entry === undefined ? nowMs : Date.parse(entry.at);
  return states.map(({ tree, keys }) => ({ tree, keys: keys.filter((key) => isLive(key, atMs)) }));
}
