/** The messages as they are shown; toasts.tsx loads it when there is a first one. */
import { Toast } from '@base-ui/react/toast';
import { useEffect, type ReactNode } from 'react';
import { words } from '../../text/words.ts';
import { Button } from '../controls/button.tsx';
import { showMessagesWith, type Message } from './toast-queue.ts';
import styles from './toasts.module.css';

const SHOWN_MS = 5_000;
/** Long enough to try what was changed, and to think about the way back. */
const SHOWN_WITH_UNDO_MS = 30_000;

const manager = Toast.createToastManager();

export default function ToastParts(): ReactNode {
  useEffect(() => showMessagesWith(add), []);
  return (
    <Toast.Provider toastManager={manager}>
      <Toast.Portal>
        <Toast.Viewport className={styles['viewport'] ?? ''}>
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function add({ title, detail, tone = 'good', undo }: Message): void {
  manager.add({
    title,
    ...(detail !== undefined && { description: detail }),
    type: tone,
    priority: tone === 'bad' ? 'high' : 'low',
    timeout: undo === undefined ? SHOWN_MS : SHOWN_WITH_UNDO_MS,
    ...(undo !== undefined && { actionProps: { children: words.undo, onClick: undo } }),
  });
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
