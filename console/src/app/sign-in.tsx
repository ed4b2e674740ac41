/** The form of the sign-in, and its page. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useEffect, useState, type ReactNode, type SubmitEvent } from 'react';
import { call } from '../api/call.ts';
import { signInWords } from '../text/shell.ts';
import { Button } from '../ui/controls/button.tsx';
import { TextField } from '../ui/controls/field.tsx';
import { ErrorNote, Note } from '../ui/display/notes.tsx';
import styles from './sign-in.module.css';

interface SignInProps {
  readonly onDone: () => void;
}

/** One query for the page and its gate. */
export const SIGN_IN_WAYS = queryOptions({
  queryKey: ['sign-in'],
  queryFn: () => call('GET /sign-in', {}),
});

/** The parameter of the address that has the code of the error after a failed sign-in at the provider. */
const FAILURE = 'sign_in';

export function SignInPage({ onDone }: SignInProps): ReactNode {
  const [failure] = useState(() => new URLSearchParams(window.location.search).get(FAILURE));
  // Shown only once: not again after a reload, nor to others who get the address.
  useEffect(() => removeFailureFromAddress(), []);
  return (
    <main className={styles['page']}>
      <div className={styles['card']}>
        <img src="/icon.svg" alt="" width="44" height="44" />
        <h1>{signInWords.title}</h1>
        {failure !== null && (
          <div role="alert">
            <Note tone="bad">{signInWords.failures[failure] ?? signInWords.failed}</Note>
          </div>
        )}
        <SignInForm onDone={onDone} />
        <p className={styles['soft']}>{signInWords.whereIsToken}</p>
      </div>
    </main>
  );
}

export function SignInForm({ onDone }: SignInProps): ReactNode {
  const [token, setToken] = useState('');
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const ways = useQuery(SIGN_IN_WAYS);
  const oidc = ways.data?.body.data.oidc ?? null;
  const signIn = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      await call('POST /session', { body: { token: token.trim() } });
      setToken('');
      setError(undefined);
      onDone();
    } catch (cause) {
      setError(cause as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className={styles['form']} onSubmit={(event) => void signIn(event)}>
      <TextField
        label={signInWords.token}
        hint={signInWords.tokenHint}
        type="password"
        name="token"
        autoComplete="current-password"
        autoFocus
        required
        value={token}
        onValue={setToken}
      />
      {error !== undefined && <ErrorNote error={error} />}
      <Button look="main" type="submit" isBusy={isBusy} disabled={token.trim() === ''}>
        {signInWords.signIn}
      </Button>
      {oidc !== null && (
        <>
          <div className={styles['or']}>{signInWords.or}</div>
          <a
            className={styles['provider']}
            href={`${oidc.start_url}?return_to=${encodeURIComponent(here())}`}
          >
            {signInWords.signInWith(oidc.name)}
          </a>
        </>
      )}
    </form>
  );
}

function removeFailureFromAddress(): void {
  const url = new URL(window.location.href);
  if (!url.searchParams.has(FAILURE)) return;
  url.searchParams.delete(FAILURE);
  window.history.replaceState(window.history.state, '', url);
}

/** Without the failure of an earlier sign-in, which the next one does not lead back to. */
function here(): string {
  const { pathname, search } = window.location;
  const query = new URLSearchParams(search);
  if (!query.has(FAILURE)) return pathname + search;
  query.delete(FAILURE);
  return query.size === 0 ? pathname : `${pathname}?${query}`;
}
