/** The form that makes a webhook, and its secret afterwards. */
import { useState, type ReactNode } from 'react';
import { useWrite } from '../../api/queries.ts';
import { webhooksWords } from '../../text/webhooks.ts';
import { Panel } from '../../ui/display/panel.tsx';
import { CreationForm } from '../keys/creation-form.tsx';
import { ShownOnce } from '../keys/shown-once.tsx';
import { bodyOf, isComplete, WEBHOOK_POINTERS, type WebhookDraft } from './webhook-draft.ts';
import { EventGroups, WebhookFields } from './webhook-fields.tsx';

const OPERATION = 'POST /webhooks';

/** @param onEnd gets the id of the new webhook; '' if there is none */
export function CreateWebhook({ onEnd }: { readonly onEnd: (id: string) => void }): ReactNode {
  const [draft, setDraft] = useState<WebhookDraft>({ name: '', url: '', events: [], apps: '' });
  const creation = useWrite(OPERATION);
  const options = { body: bodyOf(draft) };
  const made = creation.data?.body.data;
  return (
    <Panel title={webhooksWords.create}>
      <CreationForm
        error={creation.error}
        pointers={WEBHOOK_POINTERS}
        isBusy={creation.isPending}
        isComplete={isComplete(draft)}
        write={{ operation: OPERATION, options }}
        onCreate={() => creation.mutate(options)}
        onCancel={() => onEnd('')}
        below={<EventGroups draft={draft} onDraft={setDraft} />}
      >
        {(message) => <WebhookFields draft={draft} onDraft={setDraft} message={message} />}
      </CreationForm>
      <ShownOnce
        value={made?.secret}
        name={draft.name.trim()}
        use={webhooksWords.secretShown}
        onStored={() => onEnd(made?.id ?? '')}
      />
    </Panel>
  );
}
