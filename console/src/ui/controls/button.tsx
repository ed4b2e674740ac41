/** A button, and a link that looks like one. */
import { Link, type LinkProps } from '@tanstack/react-router';
import type { ComponentProps, ReactNode } from 'react';
import styles from './button.module.css';

export type ButtonLook = 'normal' | 'main' | 'plain' | 'danger';

interface ButtonProps extends ComponentProps<'button'> {
  readonly look?: ButtonLook;
  readonly isSmall?: boolean;
  /** Work is under way: the button keeps its place, and cannot be pressed. */
  readonly isBusy?: boolean;
}

export function Button({
  look = 'normal',
  isSmall = false,
  isBusy = false,
  className,
  disabled,
  children,
  ...rest
}: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      {...rest}
      className={buttonClass(look, isSmall, className)}
      disabled={disabled === true || isBusy}
      aria-busy={isBusy || undefined}
    >
      {children}
    </button>
  );
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
