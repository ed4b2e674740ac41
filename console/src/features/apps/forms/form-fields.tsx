/** Controls of a record's form, each bound to one field by its pointer. */
import { useEffect, useRef, type ComponentProps, type ReactNode } from 'react';
import { appsWords } from '../../../text/apps.ts';
import { words } from '../../../text/words.ts';
import { Button } from '../../../ui/controls/button.tsx';
import { CheckField, SelectField, TextArea, TextField, type Choice } from '../../../ui/controls/field.tsx';
import { ErrorNote } from '../../../ui/display/notes.tsx';
import type { ShownFields } from '../../save/both-sides.tsx';
import { ConflictSides } from '../../save/conflict.tsx';
import styles from './forms.module.css';
import { decidersOf } from './record-fields.ts';
import type { FormState } from './use-record-form.ts';

interface BoundProps {
  readonly form: FormState;
  /** JSON pointer. */
  readonly at: string;
  readonly placeholder?: string;
  readonly required?: boolean;
}

const ROWS_MIN = 3;
const ROWS_MAX = 12;

/** Shows the whole text, as far as there is room. */
const rowsOf = (text: string): number => Math.max(ROWS_MIN, Math.min(ROWS_MAX, text.split('\n').length + 1));

function textsOf({
  form,
  at,
}: BoundProps): Pick<ComponentProps<typeof TextArea>, 'label' | 'hint' | 'error'> {
  const [label, hint] = form.words[at] ?? [at, undefined];
  return { label, hint, error: form.error?.fieldMessage(at) };
}

/** The control that the kind of the field asks for. */
export function FormField(props: BoundProps): ReactNode {
  const { form, at, placeholder, required } = props;
  const texts = textsOf(props);
  const value = form.value(at);
  if (typeof value === 'boolean') {
    return <CheckField {...texts} checked={value} onChecked={(checked) => form.set(at, checked)} />;
  }
  const kind = form.kinds[at];
  const onValue = (text: string): void => form.set(at, text);
  if (kind === 'labels' || kind === 'targets')
    return <TextArea {...texts} value={value} onValue={onValue} isMono rows={rowsOf(value)} />;
  return (
    <TextField
      {...texts}
      value={value}
      onValue={onValue}
      type={kind === 'time' ? 'datetime-local' : 'text'}
      inputMode={kind === 'number' ? 'numeric' : 'text'}
      {...(placeholder !== undefined && { placeholder })}
      {...(required === true && { 'aria-required': true })}
    />
  );
}

export function FormText(props: BoundProps): ReactNode {
  const { form, at } = props;
  return (
    <TextArea
      {...textsOf(props)}
      value={String(form.value(at))}
      onValue={(text) => form.set(at, text)}
      rows={rowsOf(String(form.value(at)))}
    />
  );
}

interface FormChoiceProps extends BoundProps {
  readonly choices: readonly Choice[];
}

export function FormChoice({ choices, ...props }: FormChoiceProps): ReactNode {
  const { form, at } = props;
  return (
    <SelectField
      {...textsOf(props)}
      value={String(form.value(at))}
      choices={choices}
      onValue={(value) => form.set(at, value)}
    />
  );
}

export function FormGroup({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <fieldset className={styles['group']}>
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}

/** The dialog that was refused gives the focus back to the button first. */
const DIALOG_GONE_MS = 150;

/**
 * A form may be longer than the screen: scrolls the refused field, or the note on a conflict, into view; not when the
 * reader writes elsewhere by now.
 * @param before what had the focus when it was refused
 */
function showRefusal(form: HTMLFormElement | null, before: Element | null): void {
  const { activeElement } = document;
  if (activeElement !== before && activeElement?.matches('input, select, textarea') === true) return;
  const wrong =
    form?.querySelector<HTMLElement>('[aria-invalid="true"]') ??
    form?.querySelector<HTMLElement>('[role="alert"]');
  wrong?.scrollIntoView({ block: 'center' });
  if (wrong?.hasAttribute('aria-invalid') === true) wrong.focus({ preventScroll: true });
}

const shownIn = ({ words: names }: FormState): ShownFields => ({
  label: (pointer) => names[pointer]?.[0] ?? pointer,
  text: (value) => (typeof value === 'boolean' ? appsWords.yesNo(value) : String(value)),
  decidersOf,
});

interface RecordFormProps {
  readonly form: FormState;
  /** Names the form, for screen readers. */
  readonly label: string;
  /** The text of the button; default: save. */
  readonly action?: string;
  readonly onCancel?: () => void;
  readonly children: ReactNode;
}

export function RecordForm({ form, label, action, onCancel, children }: RecordFormProps): ReactNode {
  const element = useRef<HTMLFormElement>(null);
  const isOvertaken = form.sides !== undefined;
  useEffect(() => {
    if (form.error === undefined && !isOvertaken) return undefined;
    const before = document.activeElement;
    const timer = setTimeout(() => showRefusal(element.current, before), DIALOG_GONE_MS);
    return () => clearTimeout(timer);
  }, [form.error, isOvertaken]);
  return (
    <form
      ref={element}
      className={styles['form']}
      aria-label={label}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        form.submit();
      }}
    >
      {form.sides !== undefined && <ConflictSides {...form.sides} shown={shownIn(form)} />}
      {form.error !== undefined && <ErrorNote error={form.error} />}
      {children}
      <div className={styles['actions']}>
        <Button type="submit" look="main" disabled={!form.isChanged || isOvertaken}>
          {action ?? words.save}
        </Button>
        {onCancel === undefined ? (
          <Button disabled={!form.isChanged} onClick={() => form.discard()}>
            {appsWords.discard}
          </Button>
        ) : (
          <Button onClick={onCancel}>{words.cancel}</Button>
        )}
      </div>
    </form>
  );
}
