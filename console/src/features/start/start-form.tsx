/** The four fields of the first app; what follows from them is shown, and can be set by hand. */
import { useState, type ReactNode, type SubmitEvent } from 'react';
import { call } from '../../api/call.ts';
import type { TransactionEnvelope } from '../../api/schema.ts';
import { startWords } from '../../text/start.ts';
import { Button } from '../../ui/controls/button.tsx';
import { FieldGrid, SelectField, TextField } from '../../ui/controls/field.tsx';
import { ErrorNote } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { useSave } from '../save/save-context.ts';
import {
  EMPTY_DRAFT,
  madeKey,
  pathOf,
  problemsFrom,
  problemsOf,
  servedPath,
  slugOf,
  transactionOf,
  type Callers,
  type Draft,
  type DraftProblems,
} from './draft.ts';
import styles from './start.module.css';

const CHOICES = (['api_key', 'none'] as const).map((value) => ({
  value,
  label: startWords.callerChoices[value],
}));

interface StartFormProps {
  /** @param key value of the created key; empty when the app needs none */
  readonly onMade: (slug: string, key: string) => void;
}

export function StartForm({ onMade }: StartFormProps): ReactNode {
  const [draft, setDraft] = useState<Draft>(EMPTY_DRAFT);
  const [problems, setProblems] = useState<DraftProblems>({});
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const make = useMake(onMade);
  const change = (part: Partial<Draft>): void => {
    setDraft({ ...draft, ...part });
    const [field] = Object.keys(part) as (keyof Draft)[];
    // Errors of fields proposed from the name disappear with it.
    const gone = field === 'name' ? (['name', 'slug', 'path'] as const) : [field];
    setProblems(Object.fromEntries(Object.entries(problems).filter(([key]) => !gone.includes(key as never))));
  };
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const found = problemsOf(draft);
    setProblems(found);
    setError(undefined);
    if (Object.keys(found).length > 0) return;
    setBusy(true);
    try {
      await make(draft);
    } catch (cause) {
      const atFields = problemsFrom(cause);
      if (atFields === undefined) setError(cause as Error);
      else setProblems(atFields);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Panel>
      <form className={styles['form']} noValidate onSubmit={(event) => void submit(event)}>
        <Fields draft={draft} problems={problems} onChange={change} />
        <Address draft={draft} problems={problems} onChange={change} />
        {error !== undefined && <ErrorNote error={error} />}
        <div>
          <Button look="main" type="submit" isBusy={isBusy}>
            {startWords.submit}
          </Button>
        </div>
      </form>
    </Panel>
  );
}

/** Dry-runs the write first, so that errors appear at their fields, and then shows what it would do. */
function useMake(onMade: StartFormProps['onMade']): (draft: Draft) => Promise<void> {
  const save = useSave();
  return async (draft) => {
    const body = transactionOf(draft);
    await call('POST /transaction', { body, query: { dry_run: true } });
    const name = draft.name.trim();
    const answer = await save<TransactionEnvelope>({
      title: startWords.saveTitle(name),
      action: startWords.submit,
      operation: 'POST /transaction',
      options: { body },
      done: startWords.done(name),
    });
    if (answer !== undefined) onMade(slugOf(draft), madeKey(answer.body.data.operations));
  };
}

interface FieldsProps {
  readonly draft: Draft;
  readonly problems: DraftProblems;
  readonly onChange: (part: Partial<Draft>) => void;
}

function Fields({ draft, problems, onChange }: FieldsProps): ReactNode {
  return (
    <div className={styles['fields']}>
      <TextField
        label={startWords.name}
        placeholder={startWords.namePlaceholder}
        autoFocus
        maxLength={200}
        value={draft.name}
        error={problems.name}
        onValue={(name) => onChange({ name })}
      />
      <TextField
        label={startWords.backend}
        hint={startWords.backendHint}
        placeholder={startWords.backendPlaceholder}
        isMono
        inputMode="url"
        value={draft.backend}
        error={problems.backend}
        onValue={(backend) => onChange({ backend })}
      />
      <SelectField<Callers>
        label={startWords.callers}
        hint={startWords.callersHint[draft.callers]}
        choices={CHOICES}
        value={draft.callers}
        error={problems.callers}
        onValue={(callers) => onChange({ callers })}
      />
      <TextField
        label={startWords.limit}
        hint={startWords.limitHint[draft.callers]}
        inputMode="numeric"
        value={draft.limit}
        error={problems.limit}
        onValue={(limit) => onChange({ limit })}
      />
    </div>
  );
}

/** Opens automatically when it contains an error. */
function Address({ draft, problems, onChange }: FieldsProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const isWrong = problems.slug !== undefined || problems.path !== undefined;
  return (
    <div className={styles['address']}>
      <p aria-live="polite">
        {slugOf(draft) === '' ? startWords.noAddress : startWords.address(servedPath(draft))}
      </p>
      <details open={isOpen || isWrong} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{startWords.addressDetails}</summary>
        <FieldGrid>
          <TextField
            label={startWords.slug}
            hint={startWords.slugHint}
            placeholder={slugOf({ ...draft, slug: '' })}
            isMono
            value={draft.slug}
            error={problems.slug}
            onValue={(slug) => onChange({ slug })}
          />
          <TextField
            label={startWords.path}
            hint={startWords.pathHint}
            placeholder={pathOf({ ...draft, path: '' })}
            isMono
            value={draft.path}
            error={problems.path}
            onValue={(path) => onChange({ path })}
          />
        </FieldGrid>
      </details>
    </div>
  );
}
