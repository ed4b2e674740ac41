/**
 * Which of the HTTP/2 sessions to a backend gets a stream: the oldest one with room, so that the others can end. A
 * session whose window the backend leaves shut counts as full, since the body of a further request would wait behind
 * one that is not read. Pure; backend-sessions.ts has the sessions.
 *
 * Several apps may have the same backend. The requests of an app whose bodies have shut most of the sessions go to
 * these sessions, so that they cannot shut all of them. When all are shut, an app that has shut none gets a session
 * above the limit.
 */

/** What the choice depends on. */
export interface ChosenFrom {
  /** Whether it can open streams at once. */
  readonly isOpen: boolean;
  readonly hasRoom: boolean;
  readonly streamCount: number;
  /** Whether the backend does not read the bodies on it. */
  isShut(): boolean;
  /** The app that has most of what the backend has not read; undefined when there is nothing. */
  shutBy(): string | undefined;
}

/** An app may shut nine times as many sessions as there are others. */
const APP_SHARE = 9;
/** Sessions above the limit, for apps that have shut none. */
export const SPARE_SESSIONS = 4;

/**
 * @param sessions to one backend, oldest first
 * @param app id of the app of the stream
 * @returns undefined: a new session
 */
export function chooseSession<S extends ChosenFrom>(
  sessions: readonly S[],
  app: string,
  sessionsMax: number,
): S | undefined {
  const shut = sessions.filter((session) => session.isShut());
  const own = shut.filter((session) => session.shutBy() === app);
  const isOverShare = own.length > 0 && own.length >= APP_SHARE * (sessionsMax - shut.length);
  if (!isOverShare) {
    const isUsable = (session: S): boolean => session.hasRoom && !shut.includes(session);
    const chosen = sessions.find((session) => session.isOpen && isUsable(session)) ?? sessions.find(isUsable);
    if (chosen !== undefined) return chosen;
    const spare = shut.length > 0 && own.length === 0 ? SPARE_SESSIONS : 0;
    if (sessions.length < sessionsMax + spare) return undefined;
  }
  const withRoom = [...own, ...shut, ...sessions].find(({ hasRoom }) => hasRoom);
  if (withRoom !== undefined) return withRoom;
  // The backend may allow fewer streams than before; the session then keeps the excess until there is room.
  const least = isOverShare ? own : sessions;
  return least.reduce((first, session) => (session.streamCount < first.streamCount ? session : first));
}
