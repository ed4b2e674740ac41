/** Who is signed in and the way out; the colour scheme. */
import { useState, type ReactNode } from 'react';
import { call } from '../api/call.ts';
import { shellWords } from '../text/shell.ts';
import { Menu } from '../ui/overlay/menu.tsx';
import { showToast } from '../ui/overlay/toasts.tsx';
import { chooseScheme, storedScheme, type ColourScheme } from './colour-scheme.ts';
import { actorLabel } from '../page/actor-names.ts';
import { useSession } from '../page/session.ts';
import styles from './shell.module.css';

export function AccountMenu(): ReactNode {
  const { name: actor, role } = useSession();
  const name = actorLabel(actor);
  return (
    <Menu
      look="plain"
      isSmall
      name={`${shellWords.account}: ${shellWords.signedInAs(name, role)}`}
      label={
        <span className={styles['account']}>
          <span>{name}</span> <span className={styles['role']}>{role}</span>
        </span>
      }
      actions={[{ label: shellWords.signOut, onSelect: () => void signOut() }]}
    />
  );
}

async function signOut(): Promise<void> {
  try {
    await call('DELETE /session', {});
    // A full load, so that no data stays in the page.
    window.location.assign('/');
  } catch (error) {
    showToast({ title: (error as Error).message, tone: 'bad' });
  }
}

const SCHEMES: readonly ColourScheme[] = ['system', 'light', 'dark'];

export function SchemeMenu(): ReactNode {
  const [scheme, setScheme] = useState(storedScheme);
  return (
    <Menu
      look="plain"
      isSmall
      label={shellWords.colourScheme}
      actions={SCHEMES.map((one) => ({
        label: shellWords.schemes[one],
        isChosen: one === scheme,
        onSelect: () => {
          chooseScheme(one);
          setScheme(one);
        },
      }))}
    />
  );
}
