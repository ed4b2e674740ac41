/** A button, and a link that looks like one. */
import { Link, type LinkProps } from '@tanstack/react-router';
import type { ComponentProps, MouseEvent, ReactNode } from 'react';
import styles from './button.module.css';

export type ButtonLook = 'normal' | 'main' | 'plain' | 'danger';

interface ButtonProps extends ComponentProps<'button'> {
  readonly look?: ButtonLook;
  readonly isSmall?: boolean;
  /** Work goes on: the button stays where it is and keeps the focus, and cannot be pressed again. */
  readonly isBusy?: boolean;
}

export function Button({
  look = 'normal',
  isSmall = false,
  isBusy = false,
  className,
  onClick,
  children,
  ...rest
}: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      {...rest}
      className={buttonClass(look, isSmall, className)}
      // A button that is disabled loses the focus, and with it the place of a reader who works with the keyboard.
      aria-disabled={isBusy || undefined}
      aria-busy={isBusy || undefined}
      onClick={isBusy ? refusePress : onClick}
    >
      {children}
    </button>
  );
}

/** Enter in a field of the form presses the button, too. */
function refusePress(event: MouseEvent): void {
  event.preventDefault();
}

type ButtonLinkProps = LinkProps & {
  readonly look?: ButtonLook;
  readonly isSmall?: boolean;
  readonly children: ReactNode;
};

export function ButtonLink({
  look = 'normal',
  isSmall = false,
  children,
  ...rest
}: ButtonLinkProps): ReactNode {
  return (
    <Link {...rest} className={buttonClass(look, isSmall)}>
      {children}
    </Link>
  );
}

function buttonClass(look: ButtonLook, isSmall: boolean, more?: string): string {
  return [styles['button'], styles[look], isSmall && styles['small'], more].filter(Boolean).join(' ');
}
