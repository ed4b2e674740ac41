/** A menu with its button, open at first; menu.tsx loads it when the button is first pressed. */
import { Menu as Base } from '@base-ui/react/menu';
import type { ReactNode } from 'react';
import { Button } from '../controls/button.tsx';
import type { MenuProps } from './menu-props.ts';
import { MenuSign } from './menu-sign.tsx';
import styles from './menu.module.css';

export default function MenuParts({
  label,
  name,
  look = 'normal',
  isSmall = false,
  actions,
}: MenuProps): ReactNode {
  return (
    <Base.Root modal={false} defaultOpen>
      <Base.Trigger
        render={<Button look={look} isSmall={isSmall} {...(name !== undefined && { 'aria-label': name })} />}
      >
        {label}
        <MenuSign />
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner align="end" sideOffset={4} className={styles['positioner'] ?? ''}>
          <Base.Popup className={styles['popup'] ?? ''}>
            {actions.map((action) => (
              <Base.Item
                key={action.label}
                className={styles['item'] ?? ''}
                data-dangerous={action.isDangerous || undefined}
                onClick={action.onSelect}
              >
                {action.label}
                {action.isChosen === true && <span aria-hidden="true">✓</span>}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
