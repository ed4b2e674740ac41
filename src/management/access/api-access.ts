/**
 * Wires access to the management API: bearer tokens with their guard against guessing, and sessions of browsers.
 * Owns their caches and timers, until `close`.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Repository } from '../../storage/repository.ts';
import { createAuthenticate, type Authenticate } from '../sessions/session-auth.ts';
import type { OidcSettings } from '../sessions/oidc/oidc-client.ts';
import { sessionCookieStyle } from '../sessions/session-cookie.ts';
import type { SignInAccess } from '../sessions/session-operations.ts';
import { Sessions, type SessionSettings } from '../sessions/sessions.ts';
import type { WritePath } from '../write/write.ts';
import { createAdminAuth } from './admin-auth.ts';
import { LoginGuard } from './login-guard.ts';
import { RefusedLogins } from './refused-logins.ts';
import { Remembered } from './remembered.ts';

export interface AccessDependencies {
  readonly repository: Repository;
  readonly clock: Clock;
  /** GATEWAY_ADMIN_TOKEN. */
  readonly adminToken: string | undefined;
  readonly authFailuresPerMinute: number;
  readonly sessions: SessionSettings;
  /** Whether the management API speaks TLS. */
  readonly isSecure: boolean;
  readonly oidc?: OidcSettings | undefined;
  readonly write: WritePath;
  /** Called with the address of each wrong admin token. */
  readonly onRefusedLogin?: (address: string) => void;
  readonly logger: { warn(fields: object, text: string): void };
}

export interface ApiAccess {
  readonly authenticate: Authenticate;
  readonly signIn: SignInAccess;
  /** Call it after the deletion of an admin token was committed. */
  revoke(adminTokenId: string): void;
  close(): void;
}

export function createAccess(dependencies: AccessDependencies): ApiAccess {
  const { repository, clock, adminToken, write, logger } = dependencies;
  const remembered = new Remembered({
    repository,
    find: (reader, hash) => reader.findAdminTokenByHash(hash),
    idsOf: ({ id }) => [id],
  });
  const refused = new RefusedLogins({
    write,
    clock,
    log: logger,
    onRefused: dependencies.onRefusedLogin ?? (() => undefined),
  });
  const checkToken = createAdminAuth({
    repository,
    clock,
    adminToken,
    guard: new LoginGuard(dependencies.authFailuresPerMinute, () => clock.monotonicMs()),
    remembered,
    refused,
    onUseNotRecorded: (error) => logger.warn({ err: error }, 'last_used_at of an admin token was not stored'),
  });
  const sessions = new Sessions({
    repository,
    clock,
    settings: dependencies.sessions,
    adminToken,
    failuresPerMinute: dependencies.authFailuresPerMinute,
    oidc: dependencies.oidc,
    log: logger,
  });
  const cookie = sessionCookieStyle(dependencies.isSecure);
  return {
    authenticate: createAuthenticate(checkToken, sessions, cookie),
    signIn: {
      sessions,
      checkToken,
      cookie,
      oidc: dependencies.oidc,
      failuresPerMinute: dependencies.authFailuresPerMinute,
      refused,
    },
    revoke(adminTokenId) {
      remembered.revoke(adminTokenId);
      sessions.revoke(adminTokenId);
    },
    close() {
      refused.close();
      remembered.close();
      sessions.close();
    },
  };
}
