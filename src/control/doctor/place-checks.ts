/** Checks whether this user may read and write the gateway's files, and whether others may read them. */
import { accessSync, constants, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemCode, systemReason } from '../../lib/error-message.ts';
import type { DatabaseLocation } from '../database/database-location.ts';
import { hasHardLink } from '../../storage/sqlite/gateway-lock.ts';
import { error, ok, warning, type Finding } from './finding.ts';

/** Below this the disk may fill within a day of history. */
const FREE_BYTES_WARN = 512 * 1_048_576;
const FREE_BYTES_MIN = 16 * 1_048_576;
/** Files beside a database that only their owner may read. */
const SECRETS = ['admin-token', 'secret-key'];

export function placeChecks({ kind, file, snapshotFile, folder }: DatabaseLocation): Finding[] {
  if (folder === undefined) return [];
  const folders = new Set([folder, ...(snapshotFile === undefined ? [] : [dirname(snapshotFile)])]);
  const refused = [...folders].flatMap((each) => folderChecks(each, each === folder || kind === 'postgres'));
  if (refused.length > 0) return refused;
  const secrets = SECRETS.map((name) => join(folder, name));
  const files = [file, ...besides(file, '-wal', '-shm'), snapshotFile, ...besides(snapshotFile, '.targets')];
  const found = [...files, ...secrets].filter((path) => path !== undefined).flatMap(fileChecks);
  if (file !== undefined && hasHardLink(file)) found.push(hardLink(file));
  return [...(found.length > 0 ? found : [ok('files', folder)]), ...[...folders].flatMap(diskChecks)];
}

function hardLink(file: string): Finding {
  const detail = `"${file}" has a second name (a hard link): a process that opens it by that name destroys it`;
  return warning('files', detail, 'make the other file a copy, by "headgate copy"');
}

function besides(path: string | undefined, ...ends: string[]): string[] {
  return path === undefined ? [] : ends.map((end) => path + end);
}

/** @param isMade whether a start makes the folder where it is missing */
function folderChecks(folder: string, isMade: boolean): Finding[] {
  const place = isMade ? existing(folder) : folder;
  const missing = place === folder ? '' : `"${folder}" does not exist, and `;
  try {
    accessSync(place, constants.R_OK | constants.W_OK | constants.X_OK);
    return [];
  } catch (failure) {
    const fix = fixOf(failure, `make "${folder}" a folder of the gateway's user: chown and chmod 700`);
    return [error('files', `${missing}"${place}": ${systemReason(failure)}`, fix)];
  }
}

function fixOf(failure: unknown, otherwise: string): string {
  return systemCode(failure) === 'EROFS'
    ? 'mount it so that it can be written, or name a path on another file system'
    : otherwise;
}

/** The folder, or the closest existing folder above it: the start creates the rest. */
function existing(folder: string): string {
  let place = folder;
  while (statSync(place, { throwIfNoEntry: false }) === undefined && dirname(place) !== place)
    place = dirname(place);
  return place;
}

function fileChecks(path: string): Finding[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (failure) {
    const fix = fixOf(failure, `make it a file of the gateway's user: chown and chmod 600 "${path}"`);
    return [error('files', `"${path}": ${systemReason(failure)}`, fix)];
  }
  const found: Finding[] = [];
  const mode = stats.mode & 0o777;
  if ((mode & 0o077) !== 0)
    found.push(
      warning('files', `other users may use "${path}" (mode ${mode.toString(8)})`, `chmod 600 "${path}"`),
    );
  const user = process.getuid?.();
  if (user !== undefined && user !== stats.uid) {
    const detail = `"${path}" belongs to the user ${stats.uid}, and this is ${user}: files that are written now may not belong to the user of the gateway`;
    found.push(warning('files', detail, `run this as that user: sudo -u "#${stats.uid}" headgate doctor`));
  }
  return found;
}

function diskChecks(folder: string): Finding[] {
  const place = existing(folder);
  const { bavail, bsize, ffree, files } = statfsSync(place);
  const free = bavail * bsize;
  const shown = `${Math.floor(free / 1_048_576).toLocaleString('en-US')} MiB free for "${place}"`;
  const fix = 'free space, or name a path on another disk';
  if (files > 0 && ffree === 0)
    return [error('disk', `no file can be made in "${place}": the file system has no inode left`, fix)];
  if (free < FREE_BYTES_MIN) return [error('disk', shown, fix)];
  return [free < FREE_BYTES_WARN ? warning('disk', shown, fix) : ok('disk', shown)];
}
