/**
 * Shows nothing before the sign-in. A session that ends later is renewed in a dialog over the page, which keeps
 * everything that was typed.
 */
import { useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState, useSyncExternalStore, type ReactNode } from 'react';
import { ApiError } from '../api/api-error.ts';
import { readSession } from '../api/call.ts';
import { connectionState, subscribeToConnection } from '../api/session-state.ts';
import { signInWords } from '../text/shell.ts';
import { ErrorNote, Loading } from '../ui/display/notes.tsx';
import { Dialog } from '../ui/overlay/dialog.tsx';
import { SessionContext, type Session } from '../page/session.ts';
import { SIGN_IN_WAYS, SignInForm, SignInPage } from './sign-in.tsx';

type Known = 'asking' | 'none' | 'signed in' | Error;

export function SignInGate({ children }: { readonly children: ReactNode }): ReactNode {
  const [known, setKnown] = useState<Known>('asking');
  const client = useQueryClient();
  const { session, hasSessionEnded } = useSyncExternalStore(subscribeToConnection, connectionState);
  const ask = useCallback(async () => {
    setKnown((await isSignedOut(client)) ? 'none' : await foundSession());
  }, [client]);
  const renew = useCallback(async () => {
    const found = await foundSession();
    // A page that is shown stays, with what is typed on it; when there is no session, so does the dialog over it.
    setKnown((before) => (before === 'signed in' ? before : found));
    await client.invalidateQueries();
  }, [client]);
  useEffect(() => void ask(), [ask]);
  useOtherTabs(hasSessionEnded, renew);
  usePersonChange(session);

  if (known === 'asking') return <Loading />;
  if (known instanceof Error) return <ErrorNote error={known} onRetry={() => void ask()} />;
  if (known === 'none' || session === undefined) return <SignInPage onDone={() => void renew()} />;
  return (
    <SessionContext value={session}>
      {children}
      <Dialog
        isOpen={hasSessionEnded}
        onClose={() => undefined}
        keepsOpen
        hasClose={false}
        title={signInWords.title}
      >
        <p>{signInWords.ended}</p>
        <SignInForm onDone={() => void renew()} />
      </Dialog>
    </SessionContext>
  );
}

/** Looks again when the reader comes back to this tab: they may have signed in meanwhile, in another one. */
function useOtherTabs(hasSessionEnded: boolean, renew: () => Promise<void>): void {
  const client = useQueryClient();
  useEffect(() => {
    if (!hasSessionEnded) return undefined;
    const ended = new AbortController();
    const look = async (): Promise<void> => {
      await client.invalidateQueries({ queryKey: SIGN_IN_WAYS.queryKey, refetchType: 'none' });
      if (document.visibilityState === 'visible' && !(await isSignedOut(client, true))) await renew();
    };
    for (const [target, event] of [
      [window, 'focus'],
      [document, 'visibilitychange'],
    ] as const)
      target.addEventListener(event, () => void look(), { signal: ended.signal });
    return () => ended.abort();
  }, [hasSessionEnded, renew, client]);
}

/** Reads everything again after a change of person or role, so that no data of the one before stays on the page. */
function usePersonChange(session: Session | undefined): void {
  const client = useQueryClient();
  const id = session?.id;
  const role = session?.role;
  const before = useRef<string>(undefined);
  useEffect(() => {
    const now = id === undefined ? undefined : `${role} ${id}`;
    if (before.current !== undefined && before.current !== now) void client.invalidateQueries();
    before.current = now;
  }, [id, role, client]);
}

/**
 * Asked before the session is read: without one, that is answered with 401, which browsers log as an error.
 *
 * @param isUnknown the result when the gateway does not answer
 */
async function isSignedOut(client: QueryClient, isUnknown = false): Promise<boolean> {
  try {
    const { body } = await client.fetchQuery(SIGN_IN_WAYS);
    return !body.data.signed_in;
  } catch {
    // Reading the session fails in the same way, and the page shows that.
    return isUnknown;
  }
}

async function foundSession(): Promise<'none' | 'signed in' | Error> {
  try {
    await readSession();
    return 'signed in';
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return 'none';
    return error as Error;
  }
}
