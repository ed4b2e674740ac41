/** The form that makes a key, and its value afterwards. */
import { useState, type ReactNode, type SubmitEvent } from 'react';
import type { ApiError } from '../../api/api-error.ts';
import type { App, CreatedTokenEnvelope } from '../../api/schema.ts';
import { useLeaveQuestion } from '../../page/leave-question.ts';
import { useMay } from '../../page/session.ts';
import { keysWords } from '../../text/keys.ts';
import { words } from '../../text/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { SelectField, TextField } from '../../ui/controls/field.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { useSave } from '../save/save-context.ts';
import { creationOf, NEW_KEY } from './key-draft.ts';
import { KEY_POINTERS, KeyFields } from './key-form.tsx';
import { Refusal } from './refusal.tsx';
import { ShownOnce } from './shown-once.tsx';
import styles from './keys.module.css';

interface CreateKeyProps {
  readonly apps: readonly App[];
  /** Slug of the app that the page shows. */
  readonly app: string;
  readonly onEnd: () => void;
}

export function CreateKey({ apps, app, onEnd }: CreateKeyProps): ReactNode {
  const [chosen, setChosen] = useState(app === '' ? (apps[0]?.slug ?? '') : app);
  const [draft, setDraft] = useState(NEW_KEY);
  const [refused, setRefused] = useState<ApiError>();
  const [value, setValue] = useState<string>();
  const [imported, setImported] = useState('');
  const mayBring = useMay('admin');
  const save = useSave();
  const leave = useLeaveQuestion(draft !== NEW_KEY || imported !== '', ['open']);
  const end = (): void => {
    leave.allow();
    onEnd();
  };
  const create = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setRefused(undefined);
    const answer = await save<CreatedTokenEnvelope>({
      title: keysWords.createFor(chosen),
      action: keysWords.create,
      operation: 'POST /apps/{app_id}/tokens',
      options: {
        path: { app_id: chosen },
        body: { ...creationOf(draft, Date.now()), ...(imported.trim() !== '' && { token: imported.trim() }) },
      },
      done: keysWords.created(draft.name.trim()),
      onRefused: setRefused,
    });
    if (answer !== undefined) setValue(answer.body.data.token);
  };
  return (
    <Panel title={keysWords.createTitle}>
      <form className={styles['form']} onSubmit={(event) => void create(event)}>
        <Refusal error={refused} pointers={[...KEY_POINTERS, '/token']} />
        <KeyFields draft={draft} onDraft={setDraft} refused={refused}>
          <SelectField
            label={keysWords.app}
            value={chosen}
            choices={apps.map(({ slug, name }) => ({ value: slug, label: name }))}
            onValue={setChosen}
          />
        </KeyFields>
        {mayBring && (
          <TextField
            label={keysWords.imported}
            hint={keysWords.importedHint}
            error={refused?.fieldMessage('/token')}
            value={imported}
            onValue={setImported}
            isMono
          />
        )}
        <div className={styles['buttons']}>
          <Button look="main" type="submit" disabled={draft.name.trim() === ''}>
            {keysWords.create}
          </Button>
          <Button onClick={end}>{words.cancel}</Button>
        </div>
      </form>
      <ShownOnce value={value} name={draft.name.trim()} onStored={end} />
    </Panel>
  );
}
