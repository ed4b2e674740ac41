/** Short messages that something was done, perhaps with a way back. */
import { Suspense, useSyncExternalStore, type ReactNode } from 'react';
import { later } from './later.ts';
import { hasMessages, subscribeToMessages } from './toast-queue.ts';

export { showToast } from './toast-queue.ts';

const ToastParts = later(() => import('./toast-parts.tsx'));

/** Rendered once for the page. */
export function Toasts(): ReactNode {
  const isNeeded = useSyncExternalStore(subscribeToMessages, hasMessages);
  return (
    isNeeded && (
      <Suspense>
        <ToastParts />
      </Suspense>
    )
  );
}
