/** What a dialog is made of; dialog.tsx loads it when one is opened. */
import { Dialog as Base } from '@base-ui/react/dialog';
import { useEffect, useRef, useSyncExternalStore, type ReactNode } from 'react';
import { connectionState, subscribeToConnection } from '../../api/session-state.ts';
import { words } from '../../text/words.ts';
import { Button } from '../controls/button.tsx';
import styles from './dialog.module.css';
import type { DialogProps } from './dialog-props.ts';

/**
 * The ends of a dialog hand the focus to its other end at the next frame. A second Tab within the same frame would take
 * the focus to the page behind the dialog.
 */
function stayAtTheEnd(event: KeyboardEvent): void {
  const isAtTheEnd = event.target instanceof Element && event.target.matches('[data-base-ui-focus-guard]');
  if (event.key === 'Tab' && isAtTheEnd) event.preventDefault();
}

export default function DialogParts({
  isOpen,
  onClose,
  title,
  summary,
  isWide = false,
  isSteady = false,
  keepsOpen = false,
  hasClose = true,
  children,
  actions,
}: DialogProps): ReactNode {
  const { hasSessionEnded } = useSyncExternalStore(subscribeToConnection, connectionState);
  // Hidden while the sign-in is open, with its content kept.
  const isHeld = hasClose && hasSessionEnded;
  useEffect(() => {
    if (!isOpen) return undefined;
    document.addEventListener('keydown', stayAtTheEnd, true);
    return () => document.removeEventListener('keydown', stayAtTheEnd, true);
  }, [isOpen]);
  // Enter, pressed once more than a form needs, must not close what it has opened.
  const titleRef = useRef<HTMLHeadingElement>(null);
  const classes = [styles['popup'], isWide && styles['wide'], isSteady && styles['steady']]
    .filter(Boolean)
    .join(' ');
  return (
    <Base.Root
      open={isOpen && !isHeld}
      disablePointerDismissal={keepsOpen}
      onOpenChange={(open) => !open && onClose()}
    >
      <Base.Portal keepMounted={isHeld}>
        <Base.Backdrop className={styles['backdrop'] ?? ''} />
        <Base.Popup className={classes} initialFocus={hasClose ? titleRef : true}>
          <div className={styles['head']}>
            <Base.Title ref={titleRef} tabIndex={-1} className={styles['title'] ?? ''}>
              {title}
            </Base.Title>
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
