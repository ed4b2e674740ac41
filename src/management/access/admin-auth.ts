/**
 * Authenticates calls of the management API: `Authorization: Bearer` with GATEWAY_ADMIN_TOKEN or a stored admin token, and what
 * the role allows. RFC 6750 section 3 for the challenges. Reads no other header: what a proxy says of a client
 * grants nothing. Only SHA-256 hashes are compared, in constant time for the environment's token. Wrong tokens are
 * slowed down per client address (login-guard.ts) and recorded (refused-logins.ts). While the database is away, tokens
 * that were known before are taken as they were (remembered-admins.ts).
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { withBudget } from '../../lib/deadline-budget.ts';
import type { Clock } from '../../lib/clock.ts';
import { timestamp } from '../../lib/clock.ts';
import type { AdminRole, StoredAdminToken } from '../../model/resources.ts';
import { ADMIN_TOKEN_PREFIX, hasValidChecksum, tokenDisplayPrefix, tokenHash } from '../../model/token.ts';
import { StorageUnavailable, type Repository } from '../../storage/repository.ts';
import { fail, isFailure, type Failure } from '../api/failure.ts';
import type { LoginGuard } from './login-guard.ts';
import type { RefusedLogins } from './refused-logins.ts';
import type { RememberedAdmins } from './remembered-admins.ts';

export interface Actor {
  /** Id of the admin token, or `environment`. */
  readonly id: string;
  readonly role: AdminRole;
  /** As it was when the database was last there. */
  readonly isRemembered?: true;
}

export interface AdminAuthDependencies {
  readonly repository: Repository;
  readonly clock: Clock;
  /** GATEWAY_ADMIN_TOKEN. */
  readonly adminToken: string | undefined;
  readonly guard: LoginGuard;
  readonly remembered: RememberedAdmins;
  readonly refused: RefusedLogins;
  /** Called when `last_used_at` could not be stored; the call itself goes on. */
  readonly onUseNotRecorded: (error: unknown) => void;
}

export interface Presented {
  readonly authorization: string | undefined;
  /** Of the client, in canonical form. */
  readonly address: string;
  readonly requestId: string;
}

export type Authenticate = (presented: Presented) => Promise<Actor | Failure>;

/** `last_used_at` is written at most this often per token. */
const USE_INTERVAL_MS = 60_000;
const RANK: Readonly<Record<AdminRole, number>> = { viewer: 0, editor: 1, admin: 2 };
const CHALLENGE = 'Bearer realm="headgate"';

export function createAdminAuth(dependencies: AdminAuthDependencies): Authenticate {
  const { repository, clock, adminToken, guard, refused, onUseNotRecorded } = dependencies;
  const recording = new Set<string>();
  const environmentHash = adminToken === undefined ? undefined : sha256(Buffer.from(adminToken, 'utf8'));

  /** Not waited for: a read must not wait for the database's one writer. One at a time per token. */
  function recordUse(id: string, nowMs: number): void {
    if (recording.has(id)) return;
    recording.add(id);
    void withBudget(undefined, () => repository.recordAdminTokenUse(id, timestamp(nowMs)))
      .catch(onUseNotRecorded)
      .finally(() => recording.delete(id));
  }

  async function storedToken(token: string): Promise<Actor | Failure> {
    if (!token.startsWith(ADMIN_TOKEN_PREFIX) || !hasValidChecksum(token)) return badToken('is not valid');
    const { record, isRemembered } = await lookUp(tokenHash(token), dependencies);
    if (record === undefined) return badToken('is not valid');
    const nowMs = clock.nowMs();
    if (record.expires_at !== null && Date.parse(record.expires_at) <= nowMs) return badToken('has expired');
    if (isRemembered) return { id: record.id, role: record.role, isRemembered };
    if (record.last_used_at === null || Date.parse(record.last_used_at) + USE_INTERVAL_MS <= nowMs) {
      recordUse(record.id, nowMs);
    }
    return { id: record.id, role: record.role };
  }

  async function check(token: string): Promise<Actor | Failure> {
    // Node hands header octets over as latin1; this gives back what was sent.
    const octets = Buffer.from(token, 'latin1');
    if (environmentHash !== undefined && timingSafeEqual(sha256(octets), environmentHash)) {
      return { id: 'environment', role: 'admin' };
    }
    return storedToken(token);
  }

  return async ({ authorization, address, requestId }) => {
    if (authorization === undefined) {
      return challenge('An admin token is required: send "Authorization: Bearer <token>"', CHALLENGE);
    }
    const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    if (token === undefined) return badToken('is not of the form "Bearer <token>"');
    const hash = tokenHash(token);
    const waitSecs = guard.admit(address, hash);
    if (waitSecs > 0) {
      refused.note({ address, requestId, reason: 'too many before it', tokenPrefix: prefixOf(token) });
      return slowedDown(waitSecs);
    }
    try {
      const actor = await check(token);
      if (isFailure(actor)) {
        guard.failed(address, hash);
        refused.note({ address, requestId, reason: actor.detail, tokenPrefix: prefixOf(token) });
      } else guard.succeeded(address, hash);
      return actor;
    } catch (error) {
      guard.abandoned(address, hash);
      throw error;
    }
  };
}

/** Throws StorageUnavailable when the database is away and the token is not known. */
async function lookUp(
  hash: string,
  { repository, remembered }: Pick<AdminAuthDependencies, 'repository' | 'remembered'>,
): Promise<{ readonly record: StoredAdminToken | undefined; readonly isRemembered: boolean }> {
  try {
    const record = await repository.read((reader) => reader.findAdminTokenByHash(hash));
    remembered.note(hash, record);
    return { record, isRemembered: false };
  } catch (error) {
    const record = remembered.find(hash);
    if (record === undefined || !(error instanceof StorageUnavailable)) throw error;
    return { record, isRemembered: true };
  }
}

/**
 * 403 unless the actor's role is at least `needed`.
 * @param what needs it
 */
export function checkRole(actor: Actor, needed: AdminRole, what = 'This'): Failure | undefined {
  if (RANK[actor.role] >= RANK[needed]) return undefined;
  const detail = `${what} needs the role "${needed}"; the admin token has the role "${actor.role}"`;
  return {
    ...fail('forbidden', detail),
    headers: { 'WWW-Authenticate': `${CHALLENGE}, error="insufficient_scope"` },
  };
}

/** As lists of admin tokens show it; undefined for what cannot be one. */
function prefixOf(token: string): string | undefined {
  return token.startsWith(ADMIN_TOKEN_PREFIX) && hasValidChecksum(token)
    ? tokenDisplayPrefix(token)
    : undefined;
}

function slowedDown(waitSecs: number): Failure {
  return {
    ...fail('too_many_auth_failures', 'Too many wrong admin tokens came from this address; try again later'),
    headers: { 'Retry-After': String(waitSecs) },
  };
}

function badToken(problem: string): Failure {
  return challenge(`The admin token ${problem}`, `${CHALLENGE}, error="invalid_token"`);
}

function challenge(detail: string, header: string): Failure {
  return { ...fail('unauthenticated', detail), headers: { 'WWW-Authenticate': header } };
}

function sha256(octets: Buffer): Buffer {
  return createHash('sha256').update(octets).digest();
}
