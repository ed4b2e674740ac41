/** Who is signed in and the way out; the colour scheme. */
import { useState, type ReactNode } from 'react';
import { call } from '../api/call.ts';
import { shellWords } from '../text/shell.ts';
import { Menu } from '../ui/overlay/menu.tsx';
import { showToast } from '../ui/overlay/toasts.tsx';
import { chooseScheme, storedScheme, type ColourScheme } from './colour-scheme.ts';
import { useSession } from '../page/session.ts';

export function AccountMenu(): ReactNode {
  const { name, role } = useSession();
  return (
    <Menu
      look="plain"
      isSmall
      name={`${shellWords.account}: ${shellWords.signedInAs(name, role)}`}
      label={shellWords.signedInAs(name, role)}
      actions={[{ label: shellWords.signOut, onSelect: () => void signOut() }]}
    />
  );
}

async function signOut(): Promise<void> {
  try {
    await call('DELETE /session', {});
    // Nothing of what was read stays in the page.
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
