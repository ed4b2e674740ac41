/**
 * The first admin token: created at the first start when the operator provides none, so that there is no default
 * password and no open API. Written to a file beside the database (admin-token-file.ts) before it is committed: a
 * token that works can always be read there.
 */
import type { Clock } from '../../lib/clock.ts';
import { timestamp } from '../../lib/clock.ts';
import { secretBytes, uuidv7 } from '../../lib/ids.ts';
import { systemReason } from '../../lib/error-message.ts';
import type { StoredAdminToken } from '../../model/resources.ts';
import {
  ADMIN_TOKEN_PREFIX,
  createToken,
  SECRET_BYTES,
  tokenDisplayPrefix,
  tokenHash,
} from '../../model/token.ts';
import type { Repository } from '../../storage/repository.ts';
import {
  adminTokenFile,
  writePrivateFile,
  type AdminTokenFile,
  type DatabaseFolder,
} from './admin-token-file.ts';
import { NOTHING_TOUCHED } from '../write/write.ts';

export interface FirstAdminToken {
  /** Shown once. */
  readonly token: string;
  /** Where it was written; undefined when there is no folder. */
  readonly file: AdminTokenFile | undefined;
}

/**
 * Creates the first admin token, unless there is one already (then undefined). Call only while
 * GATEWAY_ADMIN_TOKEN is unset. Throws when the file cannot be written; nothing is stored then.
 * @param place undefined when there is no folder; no file is then written
 */
export async function ensureFirstAdminToken(
  repository: Repository,
  clock: Clock,
  place: DatabaseFolder | undefined,
): Promise<FirstAdminToken | undefined> {
  if ((await repository.countAdminTokens()) > 0) return undefined;
  const token = createToken(ADMIN_TOKEN_PREFIX, secretBytes(SECRET_BYTES));
  let file: AdminTokenFile | undefined;
  const record = firstRecord(token, clock.nowMs());
  const committed = await repository.write<boolean>(async (writer) => {
    // Checked again inside the transaction: another process may have started at the same time.
    if ((await writer.listAdminTokens({ limit: 1, after: undefined })).total > 0) return { abort: false };
    if (place !== undefined) file = await writeToken(place, token);
    await writer.insertAdminToken(record);
    await writer.appendAudit({
      id: uuidv7(clock.nowMs()),
      at: record.created_at,
      actor: 'system',
      action: 'admin_token.create',
      resource_type: 'admin_token',
      resource_id: record.id,
      resource_name: record.name,
      parents: {},
      address: null,
      request_id: null,
      change: { name: record.name, role: record.role },
    });
    return { value: true, touched: NOTHING_TOUCHED };
  });
  return committed.value ? { token, file } : undefined;
}

async function writeToken(place: DatabaseFolder, token: string): Promise<AdminTokenFile> {
  let path = place.folder;
  try {
    const file = await adminTokenFile(place);
    path = file.path;
    await writePrivateFile(path, `${token}\n`);
    return file;
  } catch (error) {
    const reason = systemReason(error);
    throw new Error(`Cannot write the admin token to "${path}": ${reason}; the folder must be writable`, {
      cause: error,
    });
  }
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
