/**
 * Controls that are bound to a field of a part; description, bounds, default and choices come from the field's schema.
 */
import { Fragment, useState, type ReactNode } from 'react';
import { policyWords } from '../../../text/policies.ts';
import { SelectField, TextArea, TextField } from '../../../ui/controls/field.tsx';
import { literalsOf, memberOf, plainOf, type JsonSchema } from '../../../ui/editor/json-schema.ts';
import { isSame } from '../../save/merge-patch.ts';
import { fieldsOf, linesOf, numberOf, setField, type PartForm } from './part-form.ts';

export interface FieldAtProps {
  readonly form: PartForm;
  /** '' is the value of the part itself. */
  readonly name: string;
}

interface BoundField {
  readonly schema: JsonSchema;
  readonly value: unknown;
  readonly set: (value: unknown) => void;
  readonly label: string;
  readonly hint: ReactNode;
  readonly error: string | undefined;
}

/** undefined where this gateway does not know the field. */
export function boundField({ form, name }: FieldAtProps): BoundField | undefined {
  const found = name === '' ? form.schema : memberOf(form.schema, name);
  if (found === undefined) return undefined;
  const schema = plainOf(found);
  return {
    schema,
    value: name === '' ? form.value : fieldsOf(form)[name],
    set: name === '' ? form.onValue : (value) => setField(form, name, value),
    label: policyWords.parts[form.part]?.fields?.[name] ?? name,
    hint: hintOf(schema, name === ''),
    error: form.errorAt(name === '' ? '' : `/${name}`),
  };
}

function hintOf(schema: JsonSchema, isPart: boolean): ReactNode {
  const bounds = policyWords.bounds(schema.minimum, schema.maximum);
  // The description of a part is above its form.
  const description = isPart ? undefined : wordsOf(schema);
  if (description === undefined && bounds === '') return undefined;
  return (
    <>
      {description !== undefined && <Described text={description} />} {bounds !== '' && `${bounds}.`}
    </>
  );
}

/** Its choices are called yes and no. */
function wordsOf({ description, type }: JsonSchema): string | undefined {
  return type === 'boolean'
    ? description?.replace(
        /^(True|False): /,
        (_whole, value) => `${value === 'True' ? policyWords.yes : policyWords.no}: `,
      )
    : description;
}

/** A description of the API: `code` in backticks. */
export function Described({ text }: { readonly text: string }): ReactNode {
  return text
    .split('`')
    .map((piece, index) => <Fragment key={index}>{index % 2 === 1 ? <code>{piece}</code> : piece}</Fragment>);
}

export function NumberAt(props: FieldAtProps): ReactNode {
  const field = boundField(props);
  if (field === undefined) return null;
  const { label, hint, error, value, set, schema } = field;
  return (
    <TextField
      {...{ label, hint, error }}
      inputMode="numeric"
      placeholder={textOf(schema.default)}
      value={textOf(value)}
      // A part that is a number stays open while it is being retyped.
      onValue={(text) => set(numberOf(text) ?? (props.name === '' ? '' : undefined))}
    />
  );
}

export function TextAt(
  props: FieldAtProps & {
    readonly placeholder?: string;
    /** Id of a datalist with values that it offers. */
    readonly list?: string;
  },
): ReactNode {
  const field = boundField(props);
  if (field === undefined) return null;
  const { label, hint, error, value, set, schema } = field;
  return (
    <TextField
      {...{ label, hint, error }}
      isMono
      placeholder={props.placeholder ?? textOf(schema.default)}
      list={props.list}
      value={textOf(value)}
      onValue={(text) => set(text === '' ? undefined : text)}
    />
  );
}

/** One of the texts that the schema lists. */
export function ChoiceAt(props: FieldAtProps): ReactNode {
  const field = boundField(props);
  if (field === undefined) return null;
  const { label, hint, error, value, set, schema } = field;
  const literals = literalsOf(schema) ?? [];
  const isRequired = props.form.schema.required?.includes(props.name) === true;
  const text = textOf(value);
  const isListed = text === '' || literals.includes(text);
  const values = [...(isRequired && text !== '' ? [] : ['']), ...literals, ...(isListed ? [] : [text])];
  return (
    <SelectField
      {...{ label, hint, error }}
      value={text}
      onValue={(next) => set(next === '' ? undefined : next)}
      choices={values.map((choice) => ({ value: choice, label: choice === '' ? unset(schema) : choice }))}
    />
  );
}

export function FlagAt(props: FieldAtProps): ReactNode {
  const field = boundField(props);
  if (field === undefined) return null;
  const { label, hint, error, value, set, schema } = field;
  const text = textOf(value);
  const choices = [
    { value: '', label: unset(schema) },
    { value: 'true', label: policyWords.yes },
    { value: 'false', label: policyWords.no },
    ...(['', 'true', 'false'].includes(text) ? [] : [{ value: text, label: text }]),
  ];
  return (
    <SelectField
      {...{ label, hint, error }}
      value={text}
      choices={choices}
      onValue={(next) => set(next === '' ? undefined : next === 'true')}
    />
  );
}

function unset({ default: standard }: JsonSchema): string {
  if (standard === undefined) return policyWords.unchosen;
  const text =
    typeof standard === 'boolean' ? (standard ? policyWords.yes : policyWords.no) : textOf(standard);
  return policyWords.unchosenDefault(text);
}

/** A list of texts, one per line. */
export function LinesAt(props: FieldAtProps & { readonly keepsEmpty?: boolean }): ReactNode {
  const [typed, setTyped] = useState('');
  const field = boundField(props);
  if (field === undefined) return null;
  const { label, hint, error, value, set } = field;
  const items = Array.isArray(value) ? value.map(textOf) : [];
  // Blank lines and spaces are kept while they are typed.
  const text = isSame(linesOf(typed), items) ? typed : items.join('\n');
  const change = (next: string): void => {
    setTyped(next);
    const lines = linesOf(next);
    set(lines.length === 0 && props.keepsEmpty !== true ? undefined : lines);
  };
  return (
    <TextArea
      {...{ label, hint, error }}
      isMono
      rows={Math.min(8, Math.max(2, text.split('\n').length))}
      value={text}
      onValue={change}
    />
  );
}

export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
