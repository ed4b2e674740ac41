/** The form that changes a key: sends only the edits. */
import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode, type SubmitEvent } from 'react';
import { call, type Answer } from '../../api/call.ts';
import type { TokenEnvelope } from '../../api/schema.ts';
import { useLeaveQuestion } from '../../page/leave-question.ts';
import { keysWords } from '../../text/keys.ts';
import { words } from '../../text/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { useSave } from '../save/save-context.ts';
import { Conflict } from './conflict.tsx';
import { draftOf, patchOf, rebased, type KeyDraft } from './key-draft.ts';
import { KEY_POINTERS, KeyFields } from './key-form.tsx';
import { Refusal } from './refusal.tsx';
import styles from './keys.module.css';

interface EditKeyProps {
  readonly app: string;
  readonly answer: Answer<TokenEnvelope>;
  readonly onEnd: () => void;
}

interface FoundConflict {
  readonly fields: readonly (keyof KeyDraft)[];
  readonly theirs: KeyDraft;
}

export function EditKey({ app, answer, onEnd }: EditKeyProps): ReactNode {
  // The key when the form was opened: its entity tag detects later changes.
  const [read, setRead] = useState(answer);
  const key = read.body.data;
  const [draft, setDraft] = useState(() => draftOf(key));
  const [refused, setRefused] = useState<Error>();
  const [conflict, setConflict] = useState<FoundConflict>();
  const save = useSave();
  const client = useQueryClient();
  const isUnchanged = Object.keys(patchOf(draft, key, 0)).length === 0;
  const leave = useLeaveQuestion(!isUnchanged, ['open']);
  const end = (): void => {
    leave.allow();
    onEnd();
  };
  // Reads the result of the other write, and applies the edits on top.
  const rebase = async (): Promise<void> => {
    try {
      const path = { app_id: app, token_id: key.id };
      const fresh = await call('GET /apps/{app_id}/tokens/{token_id}', { path });
      const theirs = draftOf(fresh.body.data);
      const { draft: both, conflicts } = rebased(draftOf(key), draft, theirs);
      setRead(fresh);
      setDraft(both);
      setConflict({ fields: conflicts, theirs });
      await client.invalidateQueries();
    } catch (error) {
      setRefused(error as Error);
    }
  };
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setRefused(undefined);
    setConflict(undefined);
    const saved = await save({
      title: keysWords.editTitle(key.name),
      operation: 'PATCH /apps/{app_id}/tokens/{token_id}',
      options: {
        path: { app_id: app, token_id: key.id },
        body: patchOf(draft, key, Date.now()),
        ifMatch: read.etag,
      },
      done: keysWords.saved(draft.name.trim()),
      onRefused: setRefused,
      onConflict: () => void rebase(),
    });
    if (saved !== undefined) end();
  };
  return (
    <Panel title={keysWords.editTitle(key.name)}>
      <form className={styles['form']} onSubmit={(event) => void submit(event)}>
        {conflict === undefined ? (
          <Refusal error={refused} pointers={KEY_POINTERS} />
        ) : (
          <Conflict
            fields={conflict.fields}
            theirs={conflict.theirs}
            mine={draft}
            onMine={() => setConflict(undefined)}
            onTheirs={() => {
              setDraft({ ...draft, ...pick(conflict.theirs, conflict.fields) });
              setConflict(undefined);
            }}
          />
        )}
        <KeyFields draft={draft} onDraft={setDraft} refused={refused} />
        <div className={styles['buttons']}>
          <Button look="main" type="submit" disabled={isUnchanged}>
            {words.save}
          </Button>
          <Button onClick={end}>{words.cancel}</Button>
          {isUnchanged && <span className={styles['soft']}>{keysWords.nothingChanged}</span>}
        </div>
      </form>
    </Panel>
  );
}

function pick(draft: KeyDraft, fields: readonly (keyof KeyDraft)[]): Partial<KeyDraft> {
  return Object.fromEntries(fields.map((field) => [field, draft[field]]));
}
