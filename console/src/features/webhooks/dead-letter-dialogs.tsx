/** What is asked before dead letters are sent again or forgotten: one of them, or all of a webhook. */
import type { ReactNode } from 'react';
import type { DeadLetter, Webhook } from '../../api/schema.ts';
import { eventText } from '../../text/events.ts';
import { webhooksWords as say } from '../../text/webhooks.ts';
import { ConfirmedWrite } from '../save/confirmed-write.tsx';

export interface AskedOfLetters {
  readonly action: 'resend' | 'forget';
  /** undefined: of all of them. */
  readonly letter?: DeadLetter;
}

interface DialogProps {
  readonly webhook: Webhook;
  readonly asked: AskedOfLetters;
  readonly onClose: () => void;
}

export const sentenceOf = ({ event }: DeadLetter): string => eventText(event.type, event.data);

/** With the name of its subject, which tells two events of one type apart. */
export const letterText = (letter: DeadLetter): string =>
  say.letterOf(sentenceOf(letter), letter.event.subject.name);

export function DeadLetterDialog({ webhook, asked, onClose }: DialogProps): ReactNode {
  const path = { webhook_id: webhook.id };
  const { action, letter } = asked;
  if (letter === undefined) {
    return action === 'resend' ? (
      <ConfirmedWrite
        operation="POST /webhooks/{webhook_id}/resend"
        options={{ path }}
        title={say.resendAllTitle(webhook.name)}
        action={say.resendAll}
        look="main"
        done={({ data }) => say.resent(data.dead_letters)}
        onClose={onClose}
      >
        {say.resendText}
      </ConfirmedWrite>
    ) : (
      <ConfirmedWrite
        operation="DELETE /webhooks/{webhook_id}/dead-letters"
        options={{ path }}
        title={say.forgetAllTitle(webhook.name)}
        action={say.forgetAll}
        done={say.forgotten}
        onClose={onClose}
      >
        {say.forgetText}
      </ConfirmedWrite>
    );
  }
  const options = { path: { ...path, event_id: letter.event.id } };
  const sentence = <p>{letterText(letter)}</p>;
  return action === 'resend' ? (
    <ConfirmedWrite
      operation="POST /webhooks/{webhook_id}/dead-letters/{event_id}/resend"
      options={options}
      title={say.resendTitle(webhook.name)}
      action={say.resend}
      look="main"
      done={({ data }) => say.resent(data.dead_letters)}
      onClose={onClose}
    >
      {sentence}
      {say.resendText}
    </ConfirmedWrite>
  ) : (
    <ConfirmedWrite
      operation="DELETE /webhooks/{webhook_id}/dead-letters/{event_id}"
      options={options}
      title={say.forgetTitle(webhook.name)}
      action={say.forget}
      done={say.forgotten}
      onClose={onClose}
    >
      {sentence}
      {say.forgetText}
    </ConfirmedWrite>
  );
}
