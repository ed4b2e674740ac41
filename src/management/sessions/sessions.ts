/**
 * Signed-in browsers: creates sessions, finds them by the value of their cookie, ends and removes them. Only a hash
 * of the value is stored. A session has the current role of its admin token and ends with it; a session of
 * GATEWAY_ADMIN_TOKEN ends when that token changes.
 *
 * Owns the time when each session was last used here, which is written to the database only at intervals, so that
 * not every read causes a write. Sessions are not configuration: they create no config version and are in no backup.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { withBudget } from '../../lib/deadline-budget.ts';
import { timestamp, type Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { AdminRole } from '../../model/resources.ts';
import type { FoundSession, Session, SessionTimes } from '../../model/resources.ts';
import { tokenHash } from '../../model/token.ts';
import type { ConfigWriter, Page, PageRequest, Repository } from '../../storage/repository.ts';
import { fail, type Failure } from '../api/failure.ts';
import { Remembered } from '../access/remembered.ts';
import { auditEntry, NOTHING_TOUCHED, type AuditNote, type WriteOrigin } from '../write/write.ts';
import { roleOfGroups, type OidcSettings } from './oidc/oidc-client.ts';
import { CookieGuard } from './cookie-guard.ts';
import { newCookieValue } from './session-cookie.ts';
import { SignInRate } from './sign-in-rate.ts';
import { markOf } from './token-mark.ts';

export interface SessionSettings {
  readonly idleSecs: number;
  readonly maxSecs: number;
}

export interface SessionsDependencies {
  readonly repository: Repository;
  readonly clock: Clock;
  readonly settings: SessionSettings;
  /** GATEWAY_ADMIN_TOKEN. */
  readonly adminToken: string | undefined;
  /** Unknown cookies that one address may send per minute; 0: unlimited. */
  readonly failuresPerMinute: number;
  /** undefined: no OpenID provider. */
  readonly oidc: OidcSettings | undefined;
  readonly log: { warn(fields: object, text: string): void };
}

/** Who signs in. */
export type Identity = Pick<Session, 'kind' | 'actor_id' | 'actor_name' | 'admin_token_id' | 'groups'> & {
  /** When the session ends at the latest, RFC 3339; null: no such time. */
  readonly expires_at: string | null;
};

/** A session that is in force. */
export interface LiveSession {
  readonly session: Session;
  readonly role: AdminRole;
  /** RFC 3339. */
  readonly idleExpiresAt: string;
  /** The session is known from before the database became unavailable. */
  readonly isRemembered: boolean;
}

export interface StartedSession extends LiveSession {
  readonly value: string;
}

export interface SignInOrigin extends WriteOrigin {
  readonly address: string;
  readonly userAgent: string | undefined;
  /** Value of the cookie that came with the sign-in: that session ends. */
  readonly previous: string | undefined;
}

const SESSIONS_PER_ACTOR_MAX = 100;
const SESSIONS_MAX = 10_000;
const USER_AGENT_CHARS_MAX = 256;
const SWEEP_MS = 60_000;
/** Uses are stored at most this often for each session, and several times in the idle time. */
const USE_INTERVAL_MS = 60_000;
const USES_PER_IDLE_TIME = 4;

export class Sessions {
  readonly #deps: SessionsDependencies;
  readonly #remembered: Remembered<FoundSession>;
  /** Unix milliseconds by session id; the sessions used longest ago are forgotten. */
  readonly #lastUsedMs = new Map<string, number>();
  readonly #storedUseMs = new Map<string, number>();
  /** The mark of GATEWAY_ADMIN_TOKEN, once it was computed. */
  #tokenMark: string | undefined;
  readonly #idleMs: number;
  readonly #useIntervalMs: number;
  readonly #sweeping: NodeJS.Timeout;
  readonly #rate: SignInRate;
  readonly #guard: CookieGuard;

  constructor(deps: SessionsDependencies) {
    this.#deps = deps;
    this.#rate = new SignInRate(() => deps.clock.monotonicMs());
    this.#guard = new CookieGuard(deps.failuresPerMinute, deps.clock);
    this.#idleMs = deps.settings.idleSecs * 1_000;
    this.#useIntervalMs = Math.min(USE_INTERVAL_MS, this.#idleMs / USES_PER_IDLE_TIME);
    this.#remembered = new Remembered({
      repository: deps.repository,
      find: (reader, hash) => reader.findSessionByHash(hash),
      idsOf: ({ id, admin_token_id }) => (admin_token_id === null ? [id] : [id, admin_token_id]),
    });
    this.#sweeping = setInterval(() => void this.removeExpired(), SWEEP_MS).unref();
  }

  close(): void {
    clearInterval(this.#sweeping);
    this.#remembered.close();
  }

  /**
   * Finds the session of a cookie. Fails when no session is in force, or the address has sent too many unknown
   * cookies.
   * @param address the client's address in canonical form
   * @param isUse false for a check by the gateway itself, which does not count as use
   * @throws StorageUnavailable when the database is unavailable and the session is not known here
   */
  async find(value: string, address: string, isUse = true): Promise<LiveSession | Failure> {
    const hash = tokenHash(value);
    return this.#guard.run(address, hash, () => this.#lookUp(value, hash, isUse));
  }

  async #lookUp(value: string, hash: string, isUse: boolean): Promise<LiveSession | undefined> {
    const { record, isRemembered } = await this.#remembered.lookUp(hash);
    if (record === undefined) return undefined;
    const role = this.#roleOf(record, value);
    const nowMs = this.#deps.clock.nowMs();
    const usedMs = Math.max(Date.parse(record.last_used_at), this.#lastUsedMs.get(record.id) ?? 0);
    // A use that is as far ahead was stored while a clock was wrong, which must not lengthen the session.
    const isIdle = Math.abs(nowMs - usedMs) >= this.#idleMs;
    if (role === undefined || isIdle || Date.parse(record.expires_at) <= nowMs) return undefined;
    if (isUse) this.#use(record, nowMs);
    return {
      session: record,
      role,
      idleExpiresAt: this.#idleExpiry(record, isUse ? nowMs : usedMs),
      isRemembered,
    };
  }

  /** A new session, always with a new value; the session that the browser had before ends. */
  async start(identity: Identity, role: AdminRole, origin: SignInOrigin): Promise<StartedSession | Failure> {
    const { clock, settings, repository } = this.#deps;
    const waitSecs = this.#rate.admit(identity.actor_id);
    if (waitSecs > 0) return tooOften(waitSecs);
    const nowMs = clock.nowMs();
    const value = newCookieValue();
    const { expires_at: end, ...who } = identity;
    const endMs = Math.min(nowMs + settings.maxSecs * 1_000, end === null ? Infinity : Date.parse(end));
    const session: Session = {
      id: uuidv7(nowMs),
      ...who,
      proof: await this.#proof(identity.kind, value),
      address: origin.address,
      user_agent: origin.userAgent?.slice(0, USER_AGENT_CHARS_MAX) ?? null,
      created_at: timestamp(nowMs),
      last_used_at: timestamp(nowMs),
      expires_at: timestamp(endMs),
    };
    const times = await this.#timesOfAll();
    let ended: readonly string[] = [];
    const { value: refused } = await repository.write<Failure | undefined>(async (writer) => {
      if (!(await isTokenThere(writer, session))) return { abort: tokenGone() };
      await writer.deleteExpiredSessions(times);
      ended = await this.#makeRoom(writer, session.actor_id, origin.previous);
      if ((await writer.countSessions()) >= SESSIONS_MAX) return { abort: tooMany() };
      await writer.insertSession({ ...session, value_hash: tokenHash(value) });
      const change = { kind: session.kind, role, expires_at: session.expires_at, ended: ended.length };
      await writer.appendAudit(auditEntry(origin, auditNote('session.sign_in', session, change), nowMs));
      return { value: undefined, touched: NOTHING_TOUCHED };
    });
    if (refused !== undefined) return refused;
    for (const id of ended) this.revoke(id);
    this.#guard.started(origin.address, tokenHash(value));
    this.#noteUse(session.id, nowMs);
    return { session, role, value, idleExpiresAt: this.#idleExpiry(session, nowMs), isRemembered: false };
  }

  /** @returns false when there is no such session, or `may` says that it is not for the caller */
  async end(
    origin: WriteOrigin,
    action: 'session.sign_out' | 'session.revoke',
    id: string,
    may: (session: Session) => boolean,
  ): Promise<boolean> {
    const { repository, clock } = this.#deps;
    const { value } = await repository.write<boolean>(async (writer) => {
      const session = await writer.findSession(id);
      if (session === undefined || !may(session)) return { abort: false };
      await writer.deleteSession(id);
      await writer.appendAudit(auditEntry(origin, auditNote(action, session, null), clock.nowMs()));
      return { value: true, touched: NOTHING_TOUCHED };
    });
    if (value) this.revoke(id);
    return value;
  }

  /** Sessions that have not expired. */
  async list(page: PageRequest, actorId: string | undefined): Promise<Page<FoundSession>> {
    this.#tokenMark = await markOf(this.#deps.adminToken);
    return this.#deps.repository.read((reader) => reader.listSessions(page, this.#times(), actorId));
  }

  /** The session for lists: times known here may be newer than stored ones. */
  shown(session: FoundSession): { role: AdminRole | null; lastUsedAt: string; idleExpiresAt: string } {
    const usedMs = Math.max(Date.parse(session.last_used_at), this.#lastUsedMs.get(session.id) ?? 0);
    const idleExpiresAt = this.#idleExpiry(session, usedMs);
    return { role: this.#roleOf(session) ?? null, lastUsedAt: timestamp(usedMs), idleExpiresAt };
  }

  /** Call it after the deletion of a session or an admin token was committed. */
  revoke(id: string): void {
    this.#remembered.revoke(id);
    this.#lastUsedMs.delete(id);
    this.#storedUseMs.delete(id);
  }

  /** Never rejects. */
  async removeExpired(): Promise<void> {
    const { repository, log } = this.#deps;
    await withBudget(undefined, async () => {
      const times = await this.#timesOfAll();
      return repository.write(async (writer) => {
        await writer.deleteExpiredSessions(times);
        return { value: undefined, touched: NOTHING_TOUCHED };
      });
    }).catch((error: unknown) => log.warn({ err: error }, 'expired sessions were not removed'));
  }

  /** @returns ids of the sessions that ended */
  async #makeRoom(
    writer: ConfigWriter,
    actorId: string,
    previous: string | undefined,
  ): Promise<readonly string[]> {
    const replaced = previous === undefined ? undefined : await writer.findSessionByHash(tokenHash(previous));
    if (replaced !== undefined) await writer.deleteSession(replaced.id);
    // Only sessions of this actor, so repeated sign-ins do not end sessions of others.
    const surplus = await writer.deleteLeastUsedSessions(actorId, SESSIONS_PER_ACTOR_MAX - 1);
    return [...(replaced === undefined ? [] : [replaced.id]), ...surplus];
  }

  /**
   * undefined when the session is not in force.
   * @param value value of the cookie; absent: `list` was called, and the mark of the token is sufficient
   */
  #roleOf({ kind, token, groups, proof }: FoundSession, value?: string): AdminRole | undefined {
    const { adminToken, clock, oidc } = this.#deps;
    switch (kind) {
      case 'token':
        if (token === null) return undefined;
        return token.expires_at !== null && Date.parse(token.expires_at) <= clock.nowMs()
          ? undefined
          : token.role;
      case 'environment':
        if (adminToken === undefined) return undefined;
        return this.#isOfAdminToken(proof ?? '', value) ? 'admin' : undefined;
      case 'oidc':
        return oidc === undefined || proof !== sourceOf(oidc) ? undefined : roleOfGroups(oidc, groups ?? []);
    }
  }

  #isOfAdminToken(proof: string, value: string | undefined): boolean {
    const [ofValue = '', mark = ''] = proof.split(' ');
    return value === undefined ? mark === this.#tokenMark : isSame(ofValue, this.#proofOf(value));
  }

  async #proof(kind: Session['kind'], value: string): Promise<string | null> {
    if (kind === 'environment') return `${this.#proofOf(value)} ${await markOf(this.#deps.adminToken)}`;
    return kind === 'oidc' && this.#deps.oidc !== undefined ? sourceOf(this.#deps.oidc) : null;
  }

  /** Keyed with the value, which is stored nowhere: GATEWAY_ADMIN_TOKEN cannot be guessed by what is stored. */
  #proofOf(value: string): string {
    return createHmac('sha256', value)
      .update(this.#deps.adminToken ?? '')
      .digest('hex');
  }

  #noteUse(id: string, nowMs: number): void {
    this.#lastUsedMs.delete(id);
    this.#lastUsedMs.set(id, nowMs);
    const oldest = this.#lastUsedMs.keys().next();
    if (this.#lastUsedMs.size > SESSIONS_MAX && oldest.done !== true) {
      this.#lastUsedMs.delete(oldest.value);
      this.#storedUseMs.delete(oldest.value);
    }
  }

  #use({ id, last_used_at }: Session, nowMs: number): void {
    this.#noteUse(id, nowMs);
    const storedMs = Math.max(Date.parse(last_used_at), this.#storedUseMs.get(id) ?? 0);
    if (storedMs + this.#useIntervalMs > nowMs) return;
    this.#storedUseMs.set(id, nowMs);
    const { repository, log } = this.#deps;
    // Not awaited: a read must not wait for the writer.
    void withBudget(undefined, () =>
      repository.write(async (writer) => {
        await writer.recordSessionUse(id, timestamp(nowMs));
        return { value: undefined, touched: NOTHING_TOUCHED };
      }),
    ).catch((error: unknown) => log.warn({ err: error }, 'last_used_at of a session was not stored'));
  }

  #idleExpiry({ expires_at }: Session, usedMs: number): string {
    return timestamp(Math.min(Date.parse(expires_at), usedMs + this.#idleMs));
  }

  #times(nowMs = this.#deps.clock.nowMs(), graceMs = 0): SessionTimes {
    return { now: timestamp(nowMs), unusedSince: timestamp(nowMs - this.#idleMs - graceMs) };
  }

  /**
   * For deleting the sessions of all gateways: by the clock that is behind, the gateway's or the database's, so that a
   * gateway with a clock that is ahead does not sign out the browsers of the others. A while after the idle time,
   * because uses are stored late.
   */
  async #timesOfAll(): Promise<SessionTimes> {
    const { repository, clock } = this.#deps;
    const databaseMs = await repository.deliveries.nowMs();
    return this.#times(Math.min(clock.nowMs(), databaseMs), 2 * this.#useIntervalMs);
  }
}

/** Groups mean something only at the provider that has given them. */
const sourceOf = ({ issuer, clientId }: OidcSettings): string => `${issuer} ${clientId}`;

function auditNote(action: string, session: Session, change: AuditNote['change']): AuditNote {
  const { id, actor_name, actor_id } = session;
  return {
    action,
    resourceType: 'session',
    resourceId: id,
    resourceName: actor_name,
    parents: {},
    change: change ?? { actor: actor_id },
  };
}

/** It may have been deleted since it was presented. */
async function isTokenThere(writer: ConfigWriter, { admin_token_id: id }: Session): Promise<boolean> {
  return id === null || (await writer.findAdminToken(id)) !== undefined;
}

const tokenGone = (): Failure => fail('unauthenticated', 'The admin token is not valid');

function tooMany(): Failure {
  const detail = `Only ${SESSIONS_MAX} browsers may be signed in at once; revoke sessions that are no longer used`;
  return fail('too_many_sessions', detail);
}

function tooOften(waitSecs: number): Failure {
  const detail = 'This account has signed in too often; use one of its sessions, or try again later';
  return { ...fail('too_many_sessions', detail), headers: { 'Retry-After': String(waitSecs) } };
}

function isSame(stored: string, expected: string): boolean {
  if (stored.length !== expected.length) return false;
  return timingSafeEqual(Buffer.from(stored), Buffer.from(expected));
}
