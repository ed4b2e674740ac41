/** The form that makes a webhook, and its secret afterwards. */
import { useState, type ReactNode } from 'react';
import { useWrite } from '../../api/queries.ts';
import { useLeaveQuestion } from '../../page/leave-question.ts';
import { webhooksWords } from '../../text/webhooks.ts';
import { Panel } from '../../ui/display/panel.tsx';
import { CreationForm } from '../keys/creation-form.tsx';
import { ShownOnce } from '../keys/shown-once.tsx';
import { bodyOf, FORM_PLACES, isComplete, WEBHOOK_POINTERS, type WebhookDraft } from './webhook-draft.ts';
import { EventGroups, WebhookFields } from './webhook-fields.tsx';

const OPERATION = 'POST /webhooks';

const EMPTY: WebhookDraft = { name: '', url: '', events: [], apps: '' };

/** @param onEnd gets the id of the new webhook; '' if there is none */
export function CreateWebhook({ onEnd }: { readonly onEnd: (id: string) => void }): ReactNode {
  const [draft, setDraft] = useState<WebhookDraft>(EMPTY);
  const creation = useWrite(OPERATION);
  const options = { body: bodyOf(draft) };
  const made = creation.data?.body.data;
  const leave = useLeaveQuestion(draft !== EMPTY, FORM_PLACES);
  const end = (id: string): void => {
    leave.allow();
    onEnd(id);
  };
  return (
    <Panel title={webhooksWords.create}>
      <CreationForm
        error={creation.error}
        pointers={WEBHOOK_POINTERS}
        isBusy={creation.isPending}
        isComplete={isComplete(draft)}
        write={{ operation: OPERATION, options }}
        onCreate={() => creation.mutate(options)}
        onCancel={() => end('')}
        below={<EventGroups draft={draft} onDraft={setDraft} />}
      >
        {(message) => <WebhookFields draft={draft} onDraft={setDraft} message={message} />}
      </CreationForm>
      <ShownOnce
        value={made?.secret}
        name={draft.name.trim()}
        use={webhooksWords.secretShown}
        onStored={() => end(made?.id ?? '')}
      />
    </Panel>
  );
}
