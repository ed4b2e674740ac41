/** A button that opens a list of actions. */
import { Menu as Base } from '@base-ui/react/menu';
import type { ReactNode } from 'react';
import { Button, type ButtonLook } from '../controls/button.tsx';
import styles from './menu.module.css';

export interface MenuAction {
  readonly label: string;
  readonly onSelect: () => void;
  readonly isDangerous?: boolean;
  readonly isChosen?: boolean;
}

interface MenuProps {
  readonly label: ReactNode;
  /** For screen readers, where the label is a sign. */
  readonly name?: string;
  readonly look?: ButtonLook;
  readonly isSmall?: boolean;
  readonly actions: readonly MenuAction[];
}

export function Menu({ label, name, look = 'normal', isSmall = false, actions }: MenuProps): ReactNode {
  return (
    <Base.Root modal={false}>
      <Base.Trigger
        render={<Button look={look} isSmall={isSmall} {...(name !== undefined && { 'aria-label': name })} />}
      >
        {label}
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
