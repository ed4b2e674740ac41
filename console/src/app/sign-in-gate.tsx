/**
 * Shows nothing before the sign-in. A session that ends later is renewed in a dialog over the page, which keeps
 * everything that was typed.
 */
import { useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useState, useSyncExternalStore, type ReactNode } from 'react';
import { ApiError } from '../api/api-error.ts';
import { call } from '../api/call.ts';
import { connectionState, startSession, subscribeToConnection } from '../api/session-state.ts';
import { signInWords } from '../text/shell.ts';
import { ErrorNote, Loading } from '../ui/display/notes.tsx';
import { Dialog } from '../ui/overlay/dialog.tsx';
import { SessionContext, type Session } from '../page/session.ts';
import { SIGN_IN_WAYS, SignInForm, SignInPage } from './sign-in.tsx';

type Known = 'asking' | 'none' | Session | Error;

export function SignInGate({ children }: { readonly children: ReactNode }): ReactNode {
  const [known, setKnown] = useState<Known>('asking');
  const client = useQueryClient();
  const { hasSessionEnded } = useSyncExternalStore(subscribeToConnection, connectionState);
  const ask = useCallback(async () => {
    setKnown((await isSignedOut(client)) ? 'none' : await readSession());
  }, [client]);
  const renew = async (): Promise<void> => {
    setKnown(await readSession());
    await client.invalidateQueries();
  };
  useEffect(() => void ask(), [ask]);

  if (known === 'asking') return <Loading />;
  if (known instanceof Error) return <ErrorNote error={known} onRetry={() => void ask()} />;
  if (known === 'none') return <SignInPage onDone={() => void renew()} />;
  return (
    <SessionContext value={known}>
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

/** Asked first, as an answer of 401 would be an error in the browser's console. */
async function isSignedOut(client: QueryClient): Promise<boolean> {
  try {
    const { body } = await client.fetchQuery(SIGN_IN_WAYS);
    return !body.data.signed_in;
  } catch {
    // Reading the session fails in the same way, and the page shows that.
    return false;
  }
}

async function readSession(): Promise<'none' | Session | Error> {
  try {
    const { body } = await call('GET /session', {});
    const { actor, csrf_token: csrf } = body.data;
    startSession(csrf ?? '');
    return { name: actor.name, role: actor.role };
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return 'none';
    return error as Error;
  }
}
