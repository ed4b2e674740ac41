/**
 * The first admin token: made at the first start when the operator brings none, so that there is no default
 * password and no open API. Written to `admin-token` (mode 0600) beside the database before it is committed: a
 * token that works can always be read there.
 */
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import { timestamp } from '../kernel/clock.ts';
import { secretBytes, uuidv7 } from '../kernel/ids.ts';
import type { StoredAdminToken } from '../model/resources.ts';
import {
  ADMIN_TOKEN_PREFIX,
  createToken,
  SECRET_BYTES,
  tokenDisplayPrefix,
  tokenHash,
} from '../model/token.ts';
import type { Repository } from '../storage/repository.ts';
import { NOTHING_TOUCHED } from './write.ts';

export interface FirstAdminToken {
  /** To be shown once. */
  readonly token: string;
  /** Where it was written; undefined when there is no database directory. */
  readonly file: string | undefined;
}

/**
 * Creates the first admin token, unless there is one already (then undefined). Call only while GATEWAY_ADMIN_TOKEN
 * is unset. Throws when the file cannot be written; nothing is stored then.
 * @param databaseDirectory folder of the database file; undefined for a database in memory or on a server
 */
export async function ensureFirstAdminToken(
  repository: Repository,
  clock: Clock,
  databaseDirectory: string | undefined,
): Promise<FirstAdminToken | undefined> {
  if ((await repository.countAdminTokens()) > 0) return undefined;
  const token = createToken(ADMIN_TOKEN_PREFIX, secretBytes(SECRET_BYTES));
  const file = databaseDirectory === undefined ? undefined : join(databaseDirectory, 'admin-token');
  const record = firstRecord(token, clock.nowMs());
  const committed = await repository.write<boolean>(async (writer) => {
    // Looked at again inside of the transaction: another process may have started at the same time.
    if ((await writer.listAdminTokens({ limit: 1, after: undefined })).total > 0) return { abort: false };
    if (file !== undefined) await writePrivateFile(file, `${token}\n`);
    await writer.insertAdminToken(record);
    await writer.appendAudit({
      id: uuidv7(clock.nowMs()),
      at: record.created_at,
      actor: 'system',
      action: 'admin_token.create',
      resource_type: 'admin_token',
      resource_id: record.id,
      change: { name: record.name, role: record.role },
    });
    return { value: true, touched: NOTHING_TOUCHED };
  });
  return committed.value ? { token, file } : undefined;
}

function firstRecord(token: string, nowMs: number): StoredAdminToken {
  const now = timestamp(nowMs);
  return {
    id: uuidv7(nowMs),
    created_at: now,
    updated_at: now,
    name: 'first admin token',
    role: 'admin',
    token_prefix: tokenDisplayPrefix(token),
    token_hash: tokenHash(token),
    expires_at: null,
    last_used_at: null,
  };
}

/** By way of a new file, so that neither old content nor an old mode can remain. */
async function writePrivateFile(path: string, content: string): Promise<void> {
  const temporary = `${path}.${process.pid}.new`;
  try {
    // A start that was cut off may have left one; in a container the process id is the same every time.
    await rm(temporary, { force: true });
    await writeFile(temporary, content, { mode: 0o600, flag: 'wx' });
    await rename(temporary, path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`Cannot write the admin token to "${path}": ${reason}; the folder must be writable`, {
      cause: error,
    });
  }
}
