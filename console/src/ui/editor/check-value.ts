/** Checks a value against a schema, to show early what the API would refuse. The API has the last word. Pure. */
import { MASK } from '../../api/mask.ts';
import { editorWords as say } from '../../text/editor.ts';
import { literalsOf, matches, variantsOf, type JsonSchema } from './json-schema.ts';

export interface Problem {
  /** RFC 6901, from the root of the value. */
  readonly pointer: string;
  readonly message: string;
}

/** More would not help a reader. */
const PROBLEMS_MAX = 100;

export function checkValue(value: unknown, schema: JsonSchema, pointer = ''): readonly Problem[] {
  const problems: Problem[] = [];
  check(value, schema, pointer, problems);
  return problems.slice(0, PROBLEMS_MAX);
}

const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** The steps of a pointer; digits stay text. */
export function stepsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function check(value: unknown, schema: JsonSchema, pointer: string, problems: Problem[]): void {
  if (problems.length >= PROBLEMS_MAX) return;
  const report = (message: string): void => void problems.push({ pointer, message });
  const mayBeNull = schema.type === 'null' || schema.anyOf?.some(({ type }) => type === 'null') === true;
  if (value === null && mayBeNull) return;
  const literals = literalsOf(schema);
  if (literals !== undefined) {
    if (!literals.includes(value as string)) report(say.mustBeOneOf(literals));
    return;
  }
  const variants = variantsOf(schema);
  if (variants.length === 0) return;
  const fitting = variants.find(({ type }) => type === undefined || isOfType(value, type));
  if (fitting === undefined) {
    report(say.mustBe(variants.map(({ type }) => say.types[type ?? ''] ?? type ?? '')));
    return;
  }
  if (typeof value === 'number') checkNumber(value, fitting, report);
  else if (typeof value === 'string') checkText(value, fitting, report);
  else if (Array.isArray(value)) checkList(value, fitting, pointer, problems);
  else if (typeof value === 'object' && value !== null)
    checkObject(value as Readonly<Record<string, unknown>>, fitting, pointer, problems);
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}

type Report = (message: string) => void;

function checkNumber(value: number, { minimum, maximum }: JsonSchema, report: Report): void {
  if (minimum !== undefined && value < minimum) report(say.atLeast(minimum));
  if (maximum !== undefined && value > maximum) report(say.atMost(maximum));
}

function checkText(value: string, schema: JsonSchema, report: Report): void {
  const { minLength, maxLength, pattern, writeOnly = false } = schema;
  if (writeOnly && value === MASK) return;
  if (minLength !== undefined && value.length < minLength) report(say.charsMin(minLength));
  if (maxLength !== undefined && value.length > maxLength) report(say.charsMax(maxLength));
  if (pattern !== undefined && !matches(pattern, value)) report(say.pattern(pattern));
}

function checkList(
  value: readonly unknown[],
  schema: JsonSchema,
  pointer: string,
  problems: Problem[],
): void {
  const { minItems, maxItems, uniqueItems, items } = schema;
  const report = (message: string): void => void problems.push({ pointer, message });
  if (minItems !== undefined && value.length < minItems) report(say.itemsMin(minItems));
  if (maxItems !== undefined && value.length > maxItems) report(say.itemsMax(maxItems));
  if (uniqueItems === true && new Set(value.map((item) => JSON.stringify(item))).size < value.length)
    report(say.itemsUnique);
  if (items === undefined) return;
  for (const [index, item] of value.entries()) check(item, items, `${pointer}/${index}`, problems);
}

function checkObject(
  value: Readonly<Record<string, unknown>>,
  { properties, patternProperties, additionalProperties, required, maxProperties }: JsonSchema,
  pointer: string,
  problems: Problem[],
): void {
  const report = (message: string): void => void problems.push({ pointer, message });
  for (const name of required ?? []) if (!Object.hasOwn(value, name)) report(say.missing(name));
  if (maxProperties !== undefined && Object.keys(value).length > maxProperties)
    report(say.itemsMax(maxProperties));
  for (const [name, member] of Object.entries(value)) {
    const at = `${pointer}/${escapePointer(name)}`;
    const own = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
    const patterned = Object.entries(patternProperties ?? {}).find(([pattern]) => matches(pattern, name));
    const known = own ?? patterned?.[1];
    if (known !== undefined) check(member, known, at, problems);
    else if (additionalProperties === false) problems.push({ pointer: at, message: say.unknownField });
    else if (typeof additionalProperties === 'object') check(member, additionalProperties, at, problems);
  }
}
