/**
 * State that all calls share: the CSRF token of the session, whether it has ended, and whether the gateway
 * answers.
 */
export interface ConnectionState {
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
export function startSession(csrf: string): void {
  token = csrf;
  change({ hasSessionEnded: false });
}

export function announceSessionEnd(): void {
  change({ hasSessionEnded: true });
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
  if (next.hasSessionEnded === state.hasSessionEnded && next.isUnreachable === state.isUnreachable) return;
  state = next;
  for (const listener of listeners) listener();
}
