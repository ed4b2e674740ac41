/**
 * The questions before a webhook is switched on or off, gets a new secret or is deleted, each with the same call for
 * curl and the command line. They keep the webhook as it was when they were opened: a write of another person does not
 * turn "switch off" into "switch on".
 */
import type { ReactNode } from 'react';
import type { Webhook } from '../../api/schema.ts';
import { webhooksWords as say } from '../../text/webhooks.ts';
import { ConfirmedWrite } from '../save/confirmed-write.tsx';

export interface AskedOfWebhook {
  readonly action: 'switch' | 'rotate' | 'delete';
  readonly webhook: Webhook;
}

interface DialogProps {
  readonly asked: AskedOfWebhook;
  readonly onSecret: (secret: string) => void;
  /** Goes away from a webhook that is deleted. */
  readonly onGone: () => Promise<void>;
  readonly onClose: () => void;
}

export function WebhookDialog({ asked, onSecret, onGone, onClose }: DialogProps): ReactNode {
  const { action, webhook } = asked;
  const { id, name, is_active: isActive } = webhook;
  const path = { webhook_id: id };
  if (action === 'switch') {
    return (
      <ConfirmedWrite
        operation="PATCH /webhooks/{webhook_id}"
        options={{ path, body: { is_active: !isActive } }}
        title={isActive ? say.disableTitle(name) : say.enableTitle(name)}
        action={isActive ? say.disable : say.enable}
        look="main"
        done={isActive ? say.disabled(name) : say.enabled(name)}
        onClose={onClose}
      >
        {isActive ? say.disableText : say.enableText}
      </ConfirmedWrite>
    );
  }
  if (action === 'rotate') {
    return (
      <ConfirmedWrite
        operation="POST /webhooks/{webhook_id}/rotate"
        options={{ path, body: {} }}
        title={say.rotateTitle(name)}
        action={say.rotate}
        onMade={({ data }) => onSecret(data.secret)}
        onClose={onClose}
      >
        {say.rotateText}
      </ConfirmedWrite>
    );
  }
  return (
    <ConfirmedWrite
      operation="DELETE /webhooks/{webhook_id}"
      options={{ path }}
      title={say.deleteTitle(name)}
      name={name}
      action={say.delete}
      done={say.deleted(name)}
      leave={onGone}
      onClose={onClose}
    >
      {say.deleteText}
    </ConfirmedWrite>
  );
}
