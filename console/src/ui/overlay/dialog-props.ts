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
   * False: the sign-in, before which all others make room; Escape must not close it either, which `onClose` sees to.
   */
  readonly hasClose?: boolean;
  readonly children: ReactNode;
  readonly actions?: ReactNode;
}
