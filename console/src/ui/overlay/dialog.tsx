/** A dialog over the page: keeps the focus inside, closes with Escape, gives the focus back. */
import { Dialog as Base } from '@base-ui/react/dialog';
import type { ReactNode } from 'react';
import { words } from '../../text/words.ts';
import { Button } from '../controls/button.tsx';
import styles from './dialog.module.css';

interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly summary?: ReactNode;
  readonly isWide?: boolean;
  /** What was typed would be lost: a press beside the dialog does not close it. */
  readonly keepsOpen?: boolean;
  /** False: only what the dialog offers closes it; then Escape must not either, which `onClose` sees to. */
  readonly hasClose?: boolean;
  readonly children: ReactNode;
  readonly actions?: ReactNode;
}

export function Dialog({
  isOpen,
  onClose,
  title,
  summary,
  isWide = false,
  keepsOpen = false,
  hasClose = true,
  children,
  actions,
}: DialogProps): ReactNode {
  return (
    <Base.Root open={isOpen} disablePointerDismissal={keepsOpen} onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={styles['backdrop'] ?? ''} />
        <Base.Popup className={`${styles['popup']} ${isWide ? styles['wide'] : ''}`}>
          <div className={styles['head']}>
            <Base.Title className={styles['title'] ?? ''}>{title}</Base.Title>
            {hasClose && (
              <Base.Close render={<Button look="plain" isSmall aria-label={words.close} />}>✕</Base.Close>
            )}
          </div>
          {summary !== undefined && (
            <Base.Description className={styles['summary'] ?? ''} render={<div />}>
              {summary}
            </Base.Description>
          )}
          <div className={styles['body']}>{children}</div>
          {actions !== undefined && <div className={styles['actions']}>{actions}</div>}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
