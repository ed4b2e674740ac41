/** The properties of a menu: menu.tsx draws its button, menu-parts.tsx the rest. */
import type { ReactNode } from 'react';
import type { ButtonLook } from '../controls/button.tsx';

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
