/** Who is signed in, for all pages. */
import { createContext, useContext } from 'react';
import type { Role, Session } from '../api/session-state.ts';

export type { Role, Session };

const RANK: Readonly<Record<Role, number>> = { viewer: 0, editor: 1, admin: 2 };

export const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error('Cannot tell who is signed in outside of the sign-in gate');
  return session;
}

/** Whether the API would allow it: pages show no button that would be refused. */
export function useMay(role: Role): boolean {
  return RANK[useSession().role] >= RANK[role];
}
