/**
 * The form that changes a webhook: sends only what was changed. What another person has changed since it was opened is
 * not overwritten.
 */
import { useState, type ReactNode } from 'react';
import type { Answer } from '../../api/call.ts';
import { useRead, useWrite } from '../../api/queries.ts';
import type { Webhook, WebhookEnvelope } from '../../api/schema.ts';
import { webhooksWords } from '../../text/webhooks.ts';
import { words } from '../../text/words.ts';
import { Loaded } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { showToast } from '../../ui/overlay/toasts.tsx';
import { CreationForm } from '../keys/creation-form.tsx';
import { draftOf, isComplete, patchOf, WEBHOOK_POINTERS } from './webhook-draft.ts';
import { EventGroups, WebhookFields } from './webhook-fields.tsx';

const OPERATION = 'PATCH /webhooks/{webhook_id}';

interface EditProps {
  readonly webhook: Webhook;
  readonly onEnd: () => void;
}

export function EditWebhook({ webhook, onEnd }: EditProps): ReactNode {
  const read = useRead('GET /webhooks/{webhook_id}', { path: { webhook_id: webhook.id } });
  return (
    <Panel title={webhooksWords.editOf(webhook.name)}>
      <Loaded query={read}>{(answer) => <EditForm answer={answer} onEnd={onEnd} />}</Loaded>
    </Panel>
  );
}

interface FormProps {
  readonly answer: Answer<WebhookEnvelope>;
  readonly onEnd: () => void;
}

function EditForm({ answer, onEnd }: FormProps): ReactNode {
  // As it was when the form was opened: what is read later has not been seen in it.
  const [{ body, etag: ifMatch }] = useState(answer);
  const opened = draftOf(body.data);
  const [draft, setDraft] = useState(opened);
  const change = useWrite(OPERATION);
  const patch = patchOf(draft, opened);
  const options = { path: { webhook_id: body.data.id }, body: patch, ifMatch };
  const save = (): void =>
    change.mutate(options, {
      onSuccess: () => {
        showToast({ title: webhooksWords.changed(draft.name.trim()) });
        onEnd();
      },
    });
  return (
    <CreationForm
      error={change.error}
      pointers={WEBHOOK_POINTERS}
      isBusy={change.isPending}
      isComplete={isComplete(draft) && Object.keys(patch).length > 0}
      write={{ operation: OPERATION, options }}
      action={words.save}
      onCreate={save}
      onCancel={onEnd}
      below={<EventGroups draft={draft} onDraft={setDraft} />}
    >
      {(message) => <WebhookFields draft={draft} onDraft={setDraft} message={message} />}
    </CreationForm>
  );
}
