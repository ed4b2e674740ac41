/** A button that opens a list of actions. The list is loaded after the page, or when the first menu opens. */
import { Suspense, useState, type ReactNode } from 'react';
import { Button, type ButtonLook } from '../controls/button.tsx';
import { later } from './later.ts';
import { MenuSign } from './menu-sign.tsx';

interface MenuAction {
  readonly label: string;
  readonly onSelect: () => void;
  readonly isDangerous?: boolean;
  readonly isChosen?: boolean;
}

export interface MenuProps {
  readonly label: ReactNode;
  /** For screen readers, where the label is a sign. */
  readonly name?: string;
  readonly look?: ButtonLook;
  readonly isSmall?: boolean;
  readonly actions: readonly MenuAction[];
}

const MenuParts = later(() => import('./menu-parts.tsx'));

export function Menu(props: MenuProps): ReactNode {
  const [hasOpened, setOpened] = useState(false);
  const { label, name, look = 'normal', isSmall = false } = props;
  const button = (
    <Button
      look={look}
      isSmall={isSmall}
      aria-haspopup="menu"
      aria-expanded={false}
      onClick={() => setOpened(true)}
      {...(name !== undefined && { 'aria-label': name })}
    >
      {label}
      <MenuSign />
    </Button>
  );
  if (!hasOpened) return button;
  return (
    <Suspense fallback={button}>
      <MenuParts {...props} />
    </Suspense>
  );
}
