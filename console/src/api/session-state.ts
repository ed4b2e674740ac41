/**
 * State that all calls share: whose session it is, its CSRF token, whether it has ended, and whether the gateway
 * answers.
 */

export type Role = 'viewer' | 'editor' | 'admin';

export interface Session {
  /** Of the actor. */
  readonly id: string;
  readonly name: string;
  readonly role: Role;
}

export interface ConnectionState {
  /** Absent before the first sign-in. */
  readonly session?: Session;
  readonly hasSessionEnded: boolean;
  readonly isUnreachable: boolean;
}

let token = '';
let state: ConnectionState = { hasSessionEnded: false, isUnreachable: false };
const listeners = new Set<() => void>();

export function csrfToken(): string {
  return token;
}

/** After a sign-in, or when the page finds an existing session. */
export function startSession(csrf: string, session: Session): void {
  token = csrf;
  change({ session, hasSessionEnded: false });
}

/** @param asked the CSRF token when the question was sent: a late answer says nothing of a session that began since */
export function announceSessionEnd(asked: string): void {
  if (asked === token) change({ hasSessionEnded: true });
}

export function announceUnreachable(isUnreachable: boolean): void {
  change({ isUnreachable });
}

export function connectionState(): ConnectionState {
  return state;
}

/** For useSyncExternalStore. */
export function subscribeToConnection(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function change(part: Partial<ConnectionState>): void {
  const next = { ...state, ...part };
  const isSame = Object.keys(part).every((name) =>
    Object.is(Reflect.get(next, name), Reflect.get(state, name)),
  );
  if (isSame) return;
  state = next;
  for (const listener of listeners) listener();
}
