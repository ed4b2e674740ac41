/** Fields with several values: choices to tick, maps of names and values, and raw YAML for what has no form. */
import { useId, useState, type ReactNode } from 'react';
import { parse, stringify } from 'yaml';
import { policyWords } from '../../../text/policies.ts';
import { Button } from '../../../ui/controls/button.tsx';
import { CheckField, TextArea } from '../../../ui/controls/field.tsx';
import { itemOf, literalsOf } from '../../../ui/editor/json-schema.ts';
import { isFields, isSame } from '../../save/merge-patch.ts';
import styles from '../policies.module.css';
import { boundField, textOf, type FieldAtProps } from './fields.tsx';
import { fieldsOf, mapOf, type PartForm, type Row } from './part-form.ts';

/** Any of the texts that the schema lists. */
export function ChoicesAt(props: FieldAtProps): ReactNode {
  const id = useId();
  const field = boundField(props);
  if (field === undefined) return null;
  const { schema, value, set, label, hint, error } = field;
  const chosen = Array.isArray(value) ? value.map(textOf) : [];
  const literals = literalsOf(itemOf(schema)) ?? [];
  const choices = [...literals, ...chosen.filter((text) => !literals.includes(text))];
  const toggle = (choice: string, isOn: boolean): void =>
    set(choices.filter((one) => (one === choice ? isOn : chosen.includes(one))));
  return (
    <fieldset className={styles['choices']} aria-describedby={`${id}-hint`}>
      <legend>{label}</legend>
      <div className={styles['ticks']}>
        {choices.map((choice) => (
          <CheckField
            key={choice}
            label={choice}
            checked={chosen.includes(choice)}
            onChecked={(isOn) => toggle(choice, isOn)}
          />
        ))}
      </div>
      <div id={`${id}-hint`} className={styles['hint']}>
        {hint}
      </div>
      {error !== undefined && (
        <div className={styles['error']} role="alert">
          {error}
        </div>
      )}
    </fieldset>
  );
}

/** Names and values. */
export function MapAt(props: FieldAtProps): ReactNode {
  const [typed, setTyped] = useState<readonly Row[]>([]);
  const field = boundField(props);
  if (field === undefined) return null;
  const { value, set, label, hint, error } = field;
  const entries = Object.entries(isFields(value) ? value : {}).map(([name, one]): Row => [name, textOf(one)]);
  // Rows without a name yet are kept while they are typed.
  const rows = isSame(mapOf(typed), mapOf(entries)) ? typed : entries;
  const change = (next: readonly Row[]): void => {
    setTyped(next);
    const fields = mapOf(next);
    set(Object.keys(fields).length === 0 ? undefined : fields);
  };
  return (
    <fieldset className={styles['choices']}>
      <legend>{label}</legend>
      {hint !== undefined && <div className={styles['hint']}>{hint}</div>}
      {rows.map((row, index) => (
        <MapRow
          key={index}
          label={label}
          number={index + 1}
          row={row}
          onRow={(next) => change(next === undefined ? rows.toSpliced(index, 1) : rows.with(index, next))}
        />
      ))}
      {error !== undefined && (
        <div className={styles['error']} role="alert">
          {error}
        </div>
      )}
      <div>
        <Button isSmall aria-label={policyWords.addRowTo(label)} onClick={() => change([...rows, ['', '']])}>
          {policyWords.addRow}
        </Button>
      </div>
    </fieldset>
  );
}

interface MapRowProps {
  readonly label: string;
  readonly number: number;
  readonly row: Row;
  readonly onRow: (row: Row | undefined) => void;
}

function MapRow({ label, number, row: [name, value], onRow }: MapRowProps): ReactNode {
  return (
    <div className={styles['row']}>
      <input
        className={styles['cell']}
        aria-label={policyWords.mapName(label, number)}
        value={name}
        spellCheck={false}
        onChange={(event) => onRow([event.currentTarget.value, value])}
      />
      <input
        className={styles['cell']}
        aria-label={policyWords.mapValue(label, number)}
        value={value}
        spellCheck={false}
        onChange={(event) => onRow([name, event.currentTarget.value])}
      />
      <Button
        look="plain"
        isSmall
        aria-label={policyWords.mapRemove(label, number)}
        onClick={() => onRow(undefined)}
      >
        ✕
      </Button>
    </div>
  );
}

interface RawYamlProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly value: unknown;
  readonly onValue: (value: unknown) => void;
  readonly error?: string | undefined;
}

/** Any value as YAML. Text that is not YAML yet is kept as typed, and changes nothing. */
export function RawYaml({ label, hint, value, onValue, error }: RawYamlProps): ReactNode {
  const [typed, setTyped] = useState('');
  const read = readYaml(typed);
  const isTyped = read.problem !== undefined || isSame(read.value, value);
  const text = isTyped && typed !== '' ? typed : value === undefined ? '' : stringify(value);
  return (
    <TextArea
      label={label}
      {...(hint !== undefined && { hint })}
      error={read.problem === undefined || typed === '' ? error : policyWords.notYaml(read.problem)}
      isMono
      rows={Math.min(12, Math.max(2, text.split('\n').length))}
      value={text}
      onValue={(next) => {
        setTyped(next);
        const { problem, value: fresh } = readYaml(next);
        if (problem === undefined) onValue(next.trim() === '' ? undefined : fresh);
      }}
    />
  );
}

/** A field whose value has no form of its own. */
export function YamlAt(props: FieldAtProps): ReactNode {
  const field = boundField(props);
  if (field === undefined) return null;
  const { value, set, label, hint, error } = field;
  return (
    <RawYaml label={label} {...(hint !== undefined && { hint })} value={value} onValue={set} error={error} />
  );
}

function readYaml(text: string): { readonly value?: unknown; readonly problem?: string } {
  try {
    return { value: parse(text) as unknown };
  } catch (error) {
    return { problem: (error as Error).message.split('\n')[0] ?? '' };
  }
}

/** The fields of a part that its form does not know, where there are some. */
export function OtherFields({
  form,
  known,
}: {
  readonly form: PartForm;
  readonly known: readonly string[];
}): ReactNode {
  const fields = fieldsOf(form);
  const others = Object.fromEntries(Object.entries(fields).filter(([name]) => !known.includes(name)));
  const names = Object.keys(others);
  if (names.length === 0) return null;
  return (
    <RawYaml
      label={policyWords.otherFields}
      hint={policyWords.otherFieldsHint}
      value={others}
      error={names.map((name) => form.errorAt(`/${name}`)).find((message) => message !== undefined)}
      onValue={(value) => {
        const kept = Object.fromEntries(Object.entries(fields).filter(([name]) => known.includes(name)));
        form.onValue({ ...kept, ...(isFields(value) && value) });
      }}
    />
  );
}
