/** What a dialog is given: dialog.tsx takes it, dialog-parts.tsx draws it. */
import type { ReactNode } from 'react';

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
   * False for the sign-in alone: the other dialogs are hidden while it is open. Its `onClose` does nothing, so that
   * Escape does not close it either.
   */
  readonly hasClose?: boolean;
  readonly children: ReactNode;
  readonly actions?: ReactNode;
}
