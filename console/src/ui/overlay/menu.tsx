/** A button that opens a list of actions. The list is loaded after the page, or when the first menu opens. */
import { Suspense, useState, type ReactNode } from 'react';
import { Button } from '../controls/button.tsx';
import { later } from './later.ts';
import type { MenuProps } from './menu-props.ts';
import { MenuSign } from './menu-sign.tsx';

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
