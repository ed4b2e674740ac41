/**
 * A dialog over the page: keeps the focus inside, closes with Escape, gives the focus back. What it is made of is
 * loaded after the page, or when the first one opens.
 */
import { Suspense, useState, type ReactNode } from 'react';
import type { DialogProps } from './dialog-props.ts';
import { later } from './later.ts';

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
