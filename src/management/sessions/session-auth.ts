/**
 * Finds out who makes a call of the management API: by the bearer token of `Authorization`, or else by the cookie of a
 * session. A call with the cookie must come from this origin, and a call that may change something must repeat the
 * session's CSRF token.
 */
import type { Actor, CheckToken, Presented } from '../access/admin-auth.ts';
import { badSession, bearerToken, noCredentials } from '../access/admin-auth.ts';
import { isFailure, type Failure } from '../api/failure.ts';
import { crossSiteFailure, csrfFailure, csrfTokenOf } from './cross-site.ts';
import { presentedSession, type CookieStyle } from './session-cookie.ts';
import type { LiveSession, Sessions } from './sessions.ts';

export type Authenticate = (presented: Presented) => Promise<Actor | Failure>;

export function createAuthenticate(
  checkToken: CheckToken,
  sessions: Pick<Sessions, 'find'>,
  cookie: CookieStyle,
): Authenticate {
  return async (presented) => {
    const { method, headers } = presented;
    if (headers.authorization !== undefined) {
      const bearer = bearerToken(headers.authorization);
      return isFailure(bearer) ? bearer : checkToken(bearer.token, presented);
    }
    const session = presentedSession(headers.cookie, cookie);
    if (session === 'absent') return noCredentials();
    if ('problem' in session) return badSession(session.problem);
    const foreign = crossSiteFailure(headers);
    if (foreign !== undefined) return foreign;
    const live = await sessions.find(session.value, presented.address, presented.isRenewal !== true);
    if (isFailure(live)) return live;
    return csrfFailure(method, headers, csrfTokenOf(session.value)) ?? actorOf(live, session.value);
  };
}

/** @param value value of the cookie */
export function actorOf({ session, role, idleExpiresAt, isRemembered }: LiveSession, value: string): Actor {
  const { id, actor_id, actor_name, created_at, expires_at } = session;
  return {
    id: actor_id,
    name: actor_name,
    role,
    ...(isRemembered && { isRemembered }),
    session: {
      id,
      csrfToken: csrfTokenOf(value),
      createdAt: created_at,
      expiresAt: expires_at,
      idleExpiresAt,
    },
  };
}
