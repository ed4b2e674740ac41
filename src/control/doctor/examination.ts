/**
 * `headgate doctor`: checks everything outside of the program that a gateway needs, before a start or beside a
 * running gateway. Changes nothing, and connects only to the servers of the settings.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/error-message.ts';
import type { Settings, SettingsResult } from '../../settings/settings.ts';
import { locateDatabase, type DatabaseLocation } from '../database/database-location.ts';
import { pidFileOf } from '../takeover/pid-file.ts';
import { certificateChecks } from './certificate-checks.ts';
import { clockChecks } from './clock-check.ts';
import { error, ok, warning, type Finding } from './finding.ts';
import { machineChecks } from './machine-checks.ts';
import { namedFileChecks } from './named-file-checks.ts';
import { placeChecks } from './place-checks.ts';
import { portChecks } from './port-checks.ts';
import { socketChecks } from './socket-checks.ts';
import { databaseChecks, storeChecks } from './server-checks.ts';

const NODE_MAJOR_MIN = 24;

export interface ExaminationDeps {
  readonly settings: SettingsResult;
  /** Version of Headgate. */
  readonly version: string;
  readonly clock: Clock;
  readonly env: (name: string) => string | undefined;
}

/** Findings in the order in which an operator would look. A check that fails itself is also a finding. */
export async function examine({
  settings: result,
  version,
  clock,
  env,
}: ExaminationDeps): Promise<Finding[]> {
  const settings = 'settings' in result ? result.settings : undefined;
  const found = [versionCheck(version), ...settingChecks(result), ...machineChecks(settings, readText)];
  const located = settings === undefined ? undefined : locateDatabase(settings);
  if (located !== undefined && 'error' in located)
    found.push(error('settings', located.error, 'correct GATEWAY_DATABASE_URL'));
  const database = located !== undefined && 'error' in located ? undefined : located;
  const files = database?.file === undefined ? [] : [database.file];
  found.push(...(await clockChecks(clock, [process.execPath, ...files], pause)));
  if (settings === undefined || database === undefined) return [...found, notChecked()];
  return [...found, ...(await settingsInPlace(settings, database, { clock, env }))];
}

/** Without it, a report with one error would look like a machine with one. */
function notChecked(): Finding {
  return warning(
    'settings',
    'files, ports, sockets, database, store and certificates were not checked, because a setting cannot be used',
    'correct the settings, then call doctor again',
  );
}

async function settingsInPlace(
  settings: Settings,
  database: DatabaseLocation,
  { clock, env }: Pick<ExaminationDeps, 'clock' | 'env'>,
): Promise<Finding[]> {
  const servingPid = servingPidOf(settings, database);
  const looks: readonly (readonly [string, () => Finding[] | Promise<Finding[]>])[] = [
    ['files', () => placeChecks(database)],
    ['files', () => namedFileChecks(settings, env)],
    ['ports', () => portChecks(settings, servingPid)],
    ['sockets', () => socketChecks(settings, servingPid)],
    ['database', () => databaseChecks(database, settings, clock, servingPid)],
    ['store', () => storeChecks(settings)],
    ['certificates', () => certificateChecks(settings, clock)],
  ];
  const found: Finding[] = [];
  for (const [check, look] of looks) {
    try {
      found.push(...(await look()));
    } catch (failure) {
      found.push(
        error(check, `cannot be checked: ${messageOf(failure)}`, 'run this as the user of the gateway'),
      );
    }
  }
  return found;
}

/** The pid of the gateway that runs with these settings; undefined when there is none. */
function servingPidOf(
  { configFile, server }: Settings,
  { file, snapshotFile }: DatabaseLocation,
): number | undefined {
  const own =
    file ?? snapshotFile ?? (configFile === undefined ? undefined : join('data', `headgate-${server.port}`));
  return own === undefined ? undefined : pidFileOf(own).otherPid();
}

function versionCheck(version: string): Finding {
  const { node, v8 } = process.versions;
  const detail = `Headgate ${version} on Node.js ${node} (V8 ${v8}), ${process.platform} ${process.arch}`;
  const isOld = Number(node.split('.')[0]) < NODE_MAJOR_MIN;
  return isOld ? error('versions', detail, `use Node.js ${NODE_MAJOR_MIN} or later`) : ok('versions', detail);
}

function settingChecks(result: SettingsResult): Finding[] {
  const fix = 'headgate settings --describe explains every setting';
  const found = [
    ...('errors' in result ? result.errors.map((text) => error('settings', text, fix)) : []),
    ...result.warnings.map((text) => warning('settings', text, fix)),
  ];
  return found.length > 0 ? found : [ok('settings', 'all can be used')];
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
