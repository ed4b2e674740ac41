/**
 * A dialog over the page: keeps the focus inside, closes with Escape, gives the focus back. What it is made of is
 * loaded after the page, or when the first one opens.
 */
import { Suspense, useState, type ReactNode } from 'react';
import { later } from './later.ts';

export interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly summary?: ReactNode;
  readonly isWide?: boolean;
  /** Content comes in parts: the buttons stay where they are while it does. */
  readonly isSteady?: boolean;
  /** What was typed would be lost: a press beside the dialog does not close it. */
  readonly keepsOpen?: boolean;
  /**
   * False: the sign-in, before which all others make room; Escape must not close it either, which `onClose` sees to.
   */
  readonly hasClose?: boolean;
  readonly children: ReactNode;
  readonly actions?: ReactNode;
}

const DialogParts = later(() => import('./dialog-parts.tsx'));

export function Dialog(props: DialogProps): ReactNode {
  const [hasOpened, setOpened] = useState(props.isOpen);
  if (props.isOpen && !hasOpened) setOpened(true);
  if (!hasOpened) return null;
  return (
    <Suspense>
      <DialogParts {...props} />
    </Suspense>
  );
}
