/**
 * Authenticates calls of the management API: `Authorization: Bearer` with GATEWAY_ADMIN_TOKEN or a stored admin token,
 * and checks roles. RFC 6750 section 3 for the challenges. Reads no other header: what a proxy says about a client
 * grants nothing. Only SHA-256 hashes are compared, in constant time for the environment's token. Wrong tokens are
 * slowed down per client address (login-guard.ts) and recorded (refused-logins.ts). While the database is unavailable,
 * known tokens are accepted with their last state (remembered.ts). Without `Authorization`, the cookie of a session
 * counts (sessions/session-auth.ts).
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { withBudget } from '../../lib/deadline-budget.ts';
import type { Clock } from '../../lib/clock.ts';
import { timestamp } from '../../lib/clock.ts';
import type { AdminRole, StoredAdminToken } from '../../model/resources.ts';
import {
  ADMIN_TOKEN_PREFIX,
  API_KEY_PREFIX,
  hasValidChecksum,
  tokenDisplayPrefix,
  tokenHash,
} from '../../model/token.ts';
import type { Repository } from '../../storage/repository.ts';
import { fail, isFailure, type Failure } from '../api/failure.ts';
import type { LoginGuard } from './login-guard.ts';
import type { RefusedLogins } from './refused-logins.ts';
import type { Remembered } from './remembered.ts';

export interface Actor {
  /** Id of the admin token, `environment`, or `oidc:` and the subject at the OpenID provider. */
  readonly id: string;
  /** The name for people. */
  readonly name: string;
  readonly role: AdminRole;
  /** Set when this is the last known state, because the database is unavailable. */
  readonly isRemembered?: true;
  /** Set for browsers; absent when the call has a token. */
  readonly session?: SessionFacts;
}

/** A session as its own calls see it. Times are RFC 3339. */
interface SessionFacts {
  readonly id: string;
  readonly csrfToken: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly idleExpiresAt: string;
}

interface TokenActor extends Actor {
  /** RFC 3339; null: never. */
  readonly expiresAt: string | null;
}

export interface AdminAuthDependencies {
  readonly repository: Repository;
  readonly clock: Clock;
  /** GATEWAY_ADMIN_TOKEN. */
  readonly adminToken: string | undefined;
  readonly guard: LoginGuard;
  readonly remembered: Remembered<StoredAdminToken>;
  readonly refused: RefusedLogins;
  /** Called when `last_used_at` could not be stored; the call itself continues. */
  readonly onUseNotRecorded: (error: unknown) => void;
}

export interface Presented {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** The client's address in canonical form. */
  readonly address: string;
  readonly requestId: string;
  /** The call was admitted before, and its answer continues; this check does not count as a use of its session. */
  readonly isRenewal?: true;
}

/** Checks a token, wherever it was sent. */
export type CheckToken = (
  token: string,
  from: Pick<Presented, 'address' | 'requestId'>,
) => Promise<TokenActor | Failure>;

/** `last_used_at` is written at most this often per token. */
const USE_INTERVAL_MS = 60_000;
/** Clocks of gateways differ by less; as in the database. */
const AHEAD_MS_MAX = 3_600_000;
const RANK: Readonly<Record<AdminRole, number>> = { viewer: 0, editor: 1, admin: 2 };
const CHALLENGE = 'Bearer realm="headgate"';
const ENVIRONMENT: TokenActor = { id: 'environment', name: 'environment', role: 'admin', expiresAt: null };

export function createAdminAuth(dependencies: AdminAuthDependencies): CheckToken {
  const { repository, clock, adminToken, guard, refused, remembered, onUseNotRecorded } = dependencies;
  const recording = new Set<string>();
  const environmentHash = adminToken === undefined ? undefined : sha256(Buffer.from(adminToken, 'utf8'));

  /** Not awaited: a read must not wait for the database's single writer. One update at a time per token. */
  function recordUse(id: string, nowMs: number): void {
    if (recording.has(id)) return;
    recording.add(id);
    void withBudget(undefined, () => repository.recordAdminTokenUse(id, timestamp(nowMs)))
      .catch(onUseNotRecorded)
      .finally(() => recording.delete(id));
  }

  async function storedToken(token: string): Promise<TokenActor | Failure> {
    if (token.startsWith(API_KEY_PREFIX))
      return badToken(`is not valid: it is an API key; admin tokens begin with "${ADMIN_TOKEN_PREFIX}"`);
    if (!token.startsWith(ADMIN_TOKEN_PREFIX) || !hasValidChecksum(token)) return badToken('is not valid');
    const { record, isRemembered } = await remembered.lookUp(tokenHash(token));
    if (record === undefined) return badToken('is not valid');
    const nowMs = clock.nowMs();
    if (record.expires_at !== null && Date.parse(record.expires_at) <= nowMs) return badToken('has expired');
    const { id, name, role, expires_at: expiresAt } = record;
    if (isRemembered) return { id, name, role, expiresAt, isRemembered };
    if (isUseNews(record.last_used_at, nowMs)) recordUse(record.id, nowMs);
    return { id, name, role, expiresAt };
  }

  async function check(token: string): Promise<TokenActor | Failure> {
    // Node decodes header bytes as latin1; this restores them.
    const octets = Buffer.from(token, 'latin1');
    if (environmentHash !== undefined && timingSafeEqual(sha256(octets), environmentHash)) {
      return ENVIRONMENT;
    }
    return storedToken(token);
  }

  return async (token, { address, requestId }) => {
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

/** A stored use far in the future was stored by a wrong clock. */
function isUseNews(storedAt: string | null, nowMs: number): boolean {
  if (storedAt === null) return true;
  const agoMs = nowMs - Date.parse(storedAt);
  return agoMs >= USE_INTERVAL_MS || agoMs < -AHEAD_MS_MAX;
}

/** The token in an `Authorization` field. */
export function bearerToken(authorization: string): { readonly token: string } | Failure {
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  return token === undefined ? badToken('must have the form "Bearer <token>"') : { token };
}

/** 401 for a call without credentials. */
export const noCredentials = (): Failure =>
  challenge('An admin token is required: send "Authorization: Bearer <token>"', CHALLENGE);

/** 401 for a cookie without a session. */
export const badSession = (problem: string): Failure => challenge(`Sign in again: ${problem}`, CHALLENGE);

/** 403 unless the actor's role is at least `needed`. @param what the action that needs the role */
export function checkRole(actor: Actor, needed: AdminRole, what = 'This'): Failure | undefined {
  if (RANK[actor.role] >= RANK[needed]) return undefined;
  const credential = actor.session === undefined ? 'admin token' : 'session';
  const detail = `${what} needs the role "${needed}"; the ${credential} has the role "${actor.role}"`;
  return {
    ...fail('forbidden', detail),
    headers: { 'WWW-Authenticate': `${CHALLENGE}, error="insufficient_scope"` },
  };
}

/** The prefix that lists of admin tokens show; undefined when the text cannot be a token. */
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
