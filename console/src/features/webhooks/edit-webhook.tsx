/**
 * The form that changes a webhook, at an address of its own: sends only what was changed. What another person has
 * changed since it was opened is not overwritten: both sides are shown, with a choice for each field.
 */
import { useState, type ReactNode } from 'react';
import { isConflictOfVersions } from '../../api/api-error.ts';
import { call, type Answer } from '../../api/call.ts';
import { useRead, useWrite } from '../../api/queries.ts';
import type { WebhookEnvelope } from '../../api/schema.ts';
import { useLeaveQuestion } from '../../page/leave-question.ts';
import { webhooksWords } from '../../text/webhooks.ts';
import { words } from '../../text/words.ts';
import { Loaded } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { showToast } from '../../ui/overlay/toasts.tsx';
import { CreationForm } from '../keys/creation-form.tsx';
import { ConflictSides } from '../save/conflict.tsx';
import {
  bodyOf,
  draftOf,
  FORM_PLACES,
  isComplete,
  patchOf,
  storedBody,
  WEBHOOK_POINTERS,
} from './webhook-draft.ts';
import { EventGroups, WebhookFields } from './webhook-fields.tsx';

const OPERATION = 'PATCH /webhooks/{webhook_id}';

interface EditProps {
  readonly id: string;
  readonly onEnd: () => void;
}

export function EditWebhook({ id, onEnd }: EditProps): ReactNode {
  const read = useRead('GET /webhooks/{webhook_id}', { path: { webhook_id: id } });
  // The webhook as it was when the form was opened: read anew then, since a cached one may be old, and not replaced by
  // later reads, which the form does not show. When it is deleted meanwhile, what was typed stays.
  const [opened, setOpened] = useState<Answer<WebhookEnvelope>>();
  if (opened === undefined && read.data !== undefined && !read.isFetching) setOpened(read.data);
  const name = opened?.body.data.name;
  return (
    <Panel title={name === undefined ? webhooksWords.editTitle : webhooksWords.editOf(name)}>
      <Loaded query={{ ...read, data: opened }}>
        {(answer) => <EditForm answer={answer} onOpened={setOpened} onEnd={onEnd} />}
      </Loaded>
    </Panel>
  );
}

interface FormProps {
  readonly answer: Answer<WebhookEnvelope>;
  /** Takes the answer that the form is based on from now on. */
  readonly onOpened: (answer: Answer<WebhookEnvelope>) => void;
  readonly onEnd: () => void;
}

function EditForm({ answer, onOpened, onEnd }: FormProps): ReactNode {
  const { body, etag: ifMatch } = answer;
  const opened = draftOf(body.data);
  const [draft, setDraft] = useState(opened);
  /** The webhook as another write has left it. */
  const [theirs, setTheirs] = useState<Answer<WebhookEnvelope>>();
  const change = useWrite(OPERATION);
  const path = { webhook_id: body.data.id };
  const patch = patchOf(draft, opened);
  const isChanged = Object.keys(patch).length > 0;
  const leave = useLeaveQuestion(isChanged, FORM_PLACES);
  const options = { path, body: patch, ifMatch };
  const end = (): void => {
    leave.allow();
    onEnd();
  };
  const save = async (): Promise<void> => {
    try {
      await change.mutateAsync(options);
      showToast({ title: webhooksWords.changed(draft.name.trim()) });
      end();
    } catch (error) {
      if (!isConflictOfVersions(error)) return;
      // Without an answer the form says that it was refused, and can be sent again.
      const now = await call('GET /webhooks/{webhook_id}', { path }).catch(() => undefined);
      if (now !== undefined) change.reset();
      setTheirs(now);
    }
  };
  const both = theirs && (
    <ConflictSides
      base={{ ...storedBody(body.data) }}
      mine={{ ...bodyOf(draft) }}
      theirs={{ ...storedBody(theirs.body.data) }}
      at={theirs.body.data.updated_at}
      onGoOn={(merged) => {
        setDraft(draftOf({ ...storedBody(theirs.body.data), ...merged }));
        onOpened(theirs);
        setTheirs(undefined);
      }}
    />
  );
  return (
    <CreationForm
      error={change.error}
      pointers={WEBHOOK_POINTERS}
      isBusy={change.isPending}
      isComplete={isComplete(draft) && isChanged && theirs === undefined}
      write={{ operation: OPERATION, options }}
      action={words.save}
      onCreate={() => void save()}
      onCancel={end}
      below={
        <>
          <EventGroups draft={draft} onDraft={setDraft} />
          {both}
        </>
      }
    >
      {(message) => <WebhookFields draft={draft} onDraft={setDraft} message={message} />}
    </CreationForm>
  );
}
