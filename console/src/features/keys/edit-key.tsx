/** The form that changes a key: sends only the edits. */
import { useState, type ReactNode, type SubmitEvent } from 'react';
import type { Answer } from '../../api/call.ts';
import type { TokenEnvelope, TokenPatch } from '../../api/schema.ts';
import { useLeaveQuestion } from '../../page/leave-question.ts';
import { keysWords } from '../../text/keys.ts';
import { words } from '../../text/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { useSave } from '../save/save-context.ts';
import { draftOf, patchOf } from './key-draft.ts';
import { KEY_POINTERS, KeyFields } from './key-form.tsx';
import { Refusal } from './refusal.tsx';
import styles from './keys.module.css';

interface EditKeyProps {
  readonly app: string;
  readonly answer: Answer<TokenEnvelope>;
  readonly onEnd: () => void;
}

export function EditKey({ app, answer, onEnd }: EditKeyProps): ReactNode {
  // The key when the form was opened: its entity tag detects later changes.
  const [{ body, etag }] = useState(answer);
  const key = body.data;
  const [draft, setDraft] = useState(() => draftOf(key));
  const [refused, setRefused] = useState<Error>();
  const save = useSave();
  const isUnchanged = Object.keys(patchOf(draft, key, 0)).length === 0;
  const leave = useLeaveQuestion(!isUnchanged, ['open']);
  const end = (): void => {
    leave.allow();
    onEnd();
  };
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setRefused(undefined);
    const patch = patchOf(draft, key, Date.now());
    const saved = await save({
      title: keysWords.editTitle(key.name),
      operation: 'PATCH /apps/{app_id}/tokens/{token_id}',
      options: {
        path: { app_id: app, token_id: key.id },
        body: patch,
        ifMatch: etag,
      },
      base: Object.fromEntries(Object.keys(patch).map((name) => [name, key[name as keyof TokenPatch]])),
      done: keysWords.saved(draft.name.trim()),
      onRefused: setRefused,
    });
    if (saved !== undefined) end();
  };
  return (
    <Panel title={keysWords.editTitle(key.name)}>
      <form className={styles['form']} onSubmit={(event) => void submit(event)}>
        <Refusal error={refused} pointers={KEY_POINTERS} />
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
