/** The properties of a part's form: the part's schema and value, and a way to change it. */
import type { JsonSchema } from '../../../ui/editor/json-schema.ts';
import { isFields, type Fields } from '../../save/merge-patch.ts';

export interface PartForm {
  /** Name of the part, for the words of its fields. */
  readonly part: string;
  readonly schema: JsonSchema;
  readonly value: unknown;
  readonly onValue: (value: unknown) => void;
  /** The error at a pointer below the value, or of the value itself (''). */
  readonly errorAt: (pointer: string) => string | undefined;
}

export function fieldsOf({ value }: PartForm): Fields {
  return isFields(value) ? value : {};
}

/** Puts a value at a field; undefined takes the field away. Objects that this leaves empty stay. */
export function setField(form: PartForm, name: string, value: unknown): void {
  const { [name]: _, ...others } = fieldsOf(form);
  const fields = fieldsOf(form);
  if (value === undefined) form.onValue(others);
  else if (Object.hasOwn(fields, name))
    form.onValue(
      Object.fromEntries(Object.entries(fields).map(([key, old]) => [key, key === name ? value : old])),
    );
  else form.onValue({ ...fields, [name]: value });
}

/** The form of an object inside of the part; it goes when its last field goes. */
export function formBelow(form: PartForm, name: string, schema: JsonSchema): PartForm {
  return {
    part: form.part,
    schema,
    value: fieldsOf(form)[name],
    onValue: (value) =>
      setField(form, name, isFields(value) && Object.keys(value).length === 0 ? undefined : value),
    errorAt: (pointer) => form.errorAt(`/${name}${pointer}`),
  };
}

/** `12` as a number; other text stays text, so that it can be seen and corrected. */
export function numberOf(text: string): unknown {
  if (text.trim() === '') return undefined;
  return /^-?(?:0|[1-9]\d{0,14})$/.test(text.trim()) ? Number(text) : text;
}

/** A list from its lines. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

export type Row = readonly [name: string, value: string];

/** A map from its rows; of rows with the same name the last one counts. */
export function mapOf(rows: readonly Row[]): Fields {
  return Object.fromEntries(rows.filter(([name]) => name !== ''));
}
