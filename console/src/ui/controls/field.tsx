/** Labelled controls of forms. Each says what is wrong with it, and is tied to its label and its text. */
import { useId, type ComponentProps, type ReactNode } from 'react';
import styles from './field.module.css';

interface FieldProps {
  readonly label: string;
  /** The purpose of the field, or its unit. */
  readonly hint?: ReactNode;
  /** The error of the value. */
  readonly error?: string | undefined;
  /** Stands behind the label: a level, a switch. */
  readonly aside?: ReactNode;
}

interface ShellProps extends FieldProps {
  readonly children: (ids: { readonly id: string; readonly describedBy: string | undefined }) => ReactNode;
}

/** Label, text and message around any control. */
export function FieldShell({ label, hint, error, aside, children }: ShellProps): ReactNode {
  const id = useId();
  return (
    <div className={styles['field']} data-invalid={error === undefined ? undefined : true}>
      <div className={styles['head']}>
        <label htmlFor={id}>{label}</label>
        {aside}
      </div>
      {children({ id, describedBy: textIds({ id, hint, error }) })}
      <FieldTexts {...{ id, hint, error }} />
    </div>
  );
}

interface FieldTextsProps extends Pick<FieldProps, 'hint' | 'error'> {
  /** The id of the control. */
  readonly id: string;
}

/** The hint and the error below a control. */
function FieldTexts({ id, hint, error }: FieldTextsProps): ReactNode {
  return (
    <>
      {hint !== undefined && (
        <div className={styles['hint']} id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {error !== undefined && (
        <div className={styles['error']} id={`${id}-error`} role="alert">
          {error}
        </div>
      )}
    </>
  );
}

/** The ids of these texts, for the `aria-describedby` of the control. */
function textIds({ id, hint, error }: FieldTextsProps): string | undefined {
  const ids = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean);
  return ids.length === 0 ? undefined : ids.join(' ');
}

type Control<Tag extends 'input' | 'textarea' | 'select'> = Omit<
  ComponentProps<Tag>,
  'id' | 'value' | 'onChange' | 'aria-describedby' | 'aria-invalid'
>;

interface TextFieldProps extends FieldProps, Control<'input'> {
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly isMono?: boolean;
}

export function TextField({
  label,
  hint,
  error,
  aside,
  value,
  onValue,
  isMono = false,
  ...rest
}: TextFieldProps): ReactNode {
  return (
    <FieldShell {...{ label, hint, error, aside }}>
      {({ id, describedBy }) => (
        <input
          autoComplete="off"
          spellCheck={false}
          {...rest}
          id={id}
          className={isMono ? `${styles['control']} ${styles['mono']}` : styles['control']}
          value={value}
          aria-describedby={describedBy}
          aria-invalid={error === undefined ? undefined : true}
          onChange={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </FieldShell>
  );
}

interface TextAreaProps extends FieldProps, Control<'textarea'> {
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly isMono?: boolean;
}

export function TextArea({
  label,
  hint,
  error,
  aside,
  value,
  onValue,
  isMono = false,
  ...rest
}: TextAreaProps): ReactNode {
  return (
    <FieldShell {...{ label, hint, error, aside }}>
      {({ id, describedBy }) => (
        <textarea
          rows={4}
          spellCheck={false}
          {...rest}
          id={id}
          className={`${styles['control']} ${styles['area']} ${isMono ? styles['mono'] : ''}`}
          value={value}
          aria-describedby={describedBy}
          aria-invalid={error === undefined ? undefined : true}
          onChange={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </FieldShell>
  );
}

export interface Choice<Value extends string = string> {
  readonly value: Value;
  readonly label: string;
}

interface SelectFieldProps<Value extends string> extends FieldProps, Control<'select'> {
  readonly value: Value;
  readonly choices: readonly Choice<Value>[];
  readonly onValue: (value: Value) => void;
}

export function SelectField<Value extends string>({
  label,
  hint,
  error,
  aside,
  value,
  choices,
  onValue,
  ...rest
}: SelectFieldProps<Value>): ReactNode {
  return (
    <FieldShell {...{ label, hint, error, aside }}>
      {({ id, describedBy }) => (
        <select
          {...rest}
          id={id}
          className={styles['control']}
          value={value}
          aria-describedby={describedBy}
          aria-invalid={error === undefined ? undefined : true}
          onChange={(event) => onValue(event.currentTarget.value as Value)}
        >
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
    </FieldShell>
  );
}

interface CheckFieldProps extends Omit<FieldProps, 'aside'>, Omit<Control<'input'>, 'type' | 'checked'> {
  readonly checked: boolean;
  readonly onChecked: (checked: boolean) => void;
}

/** A single box followed by its label. */
export function CheckField({ label, hint, error, checked, onChecked, ...rest }: CheckFieldProps): ReactNode {
  const id = useId();
  return (
    <div className={styles['field']}>
      <label className={styles['check']}>
        <input
          {...rest}
          type="checkbox"
          checked={checked}
          aria-describedby={textIds({ id, hint, error })}
          aria-invalid={error === undefined ? undefined : true}
          onChange={(event) => onChecked(event.currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
      <FieldTexts {...{ id, hint, error }} />
    </div>
  );
}

/** Fields below each other, or side by side where there is room. */
export function FieldGrid({ children }: { readonly children: ReactNode }): ReactNode {
  return <div className={styles['grid']}>{children}</div>;
}
