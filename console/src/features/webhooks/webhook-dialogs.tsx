/** What is asked before a webhook is switched, gets a new secret or is deleted, each with the same change elsewhere. */
import type { ReactNode } from 'react';
import { useWrite } from '../../api/queries.ts';
import type { Webhook } from '../../api/schema.ts';
import { webhooksWords } from '../../text/webhooks.ts';
import { ConfirmDialog } from '../../ui/overlay/confirm.tsx';
import { showToast } from '../../ui/overlay/toasts.tsx';
import { ShownOnce } from '../keys/shown-once.tsx';
import { SameChange } from '../save/same-change-view.tsx';

const CHANGE = 'PATCH /webhooks/{webhook_id}';
const ROTATION = 'POST /webhooks/{webhook_id}/rotate';
const DELETION = 'DELETE /webhooks/{webhook_id}';

export interface DialogProps {
  readonly webhook: Webhook;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function SwitchDialog({ webhook, isOpen, onClose }: DialogProps): ReactNode {
  const { id, name, is_active: isActive } = webhook;
  const options = { path: { webhook_id: id }, body: { is_active: !isActive } };
  const change = useWrite(CHANGE);
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={isActive ? webhooksWords.disableTitle(name) : webhooksWords.enableTitle(name)}
      action={isActive ? webhooksWords.disable : webhooksWords.enable}
      look="main"
      below={<SameChange operation={CHANGE} options={options} />}
      onConfirm={async () => {
        await change.mutateAsync(options);
        showToast({ title: isActive ? webhooksWords.disabled(name) : webhooksWords.enabled(name) });
      }}
    >
      {isActive ? webhooksWords.disableText : webhooksWords.enableText}
    </ConfirmDialog>
  );
}

export function RotateDialog({ webhook: { id, name }, isOpen, onClose }: DialogProps): ReactNode {
  const options = { path: { webhook_id: id }, body: {} };
  const rotation = useWrite(ROTATION);
  return (
    <>
      <ConfirmDialog
        isOpen={isOpen}
        onClose={onClose}
        title={webhooksWords.rotateTitle(name)}
        action={webhooksWords.rotate}
        below={<SameChange operation={ROTATION} options={options} />}
        onConfirm={() => rotation.mutateAsync(options)}
      >
        {webhooksWords.rotateText}
      </ConfirmDialog>
      <ShownOnce
        value={rotation.data?.body.data.secret}
        name={name}
        use={webhooksWords.secretShown}
        onStored={() => rotation.reset()}
      />
    </>
  );
}

interface DeleteProps extends DialogProps {
  readonly onGone: () => void;
  readonly onLeaving: (isLeaving: boolean) => void;
}

export function DeleteDialog({ webhook, isOpen, onClose, onGone, onLeaving }: DeleteProps): ReactNode {
  const { id, name } = webhook;
  const path = { webhook_id: id };
  const deletion = useWrite(DELETION);
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={webhooksWords.deleteTitle(name)}
      name={name}
      action={webhooksWords.delete}
      below={<SameChange operation={DELETION} options={{ path }} />}
      onConfirm={async () => {
        onLeaving(true);
        await deletion.mutateAsync({ path }).catch((cause: unknown) => {
          onLeaving(false);
          throw cause;
        });
        showToast({ title: webhooksWords.deleted(name) });
        onGone();
      }}
    >
      {webhooksWords.deleteText}
    </ConfirmDialog>
  );
}
