/** Short messages that something was done, perhaps with a way back. `toasts.add` works from anywhere. */
import { Toast } from '@base-ui/react/toast';
import type { ReactNode } from 'react';
import { words } from '../../text/words.ts';
import { Button } from '../controls/button.tsx';
import styles from './toasts.module.css';

const manager = Toast.createToastManager();

interface Message {
  readonly title: string;
  readonly detail?: string | undefined;
  readonly tone?: 'good' | 'bad';
  /** The way back, where there is one. */
  readonly undo?: (() => void) | undefined;
}

export function showToast({ title, detail, tone = 'good', undo }: Message): void {
  manager.add({
    title,
    ...(detail !== undefined && { description: detail }),
    type: tone,
    priority: tone === 'bad' ? 'high' : 'low',
    timeout: undo === undefined ? 5_000 : 12_000,
    ...(undo !== undefined && { actionProps: { children: words.undo, onClick: undo } }),
  });
}

export function Toasts({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <Toast.Provider toastManager={manager}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className={styles['viewport'] ?? ''}>
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function ToastList(): ReactNode {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className={styles['toast'] ?? ''}>
      <Toast.Content className={styles['content'] ?? ''}>
        <Toast.Title className={styles['title'] ?? ''} />
        <Toast.Description className={styles['detail'] ?? ''} />
      </Toast.Content>
      <Toast.Action render={<Button isSmall />} />
      <Toast.Close render={<Button look="plain" isSmall aria-label={words.close} />}>✕</Toast.Close>
    </Toast.Root>
  ));
}
