/** The targets that a file lists, as JSON or YAML, or what is wrong with it, with line and column. Pure. */
import { startOf } from '../../declaration/field-lines.ts';
import { isObject } from '../../lib/is-object.ts';
import { readDocument, type Problem } from '../../declaration/yaml-reader.ts';
import type { Egress } from '../../egress/egress.ts';
import { validate } from '../../management/api/validate.ts';
import { TargetsInputSchema } from '../../management/schemas/revision-parts/targets.ts';
import { readList, type TargetsInput } from '../../management/write/rules/targets.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import type { FieldError } from '../../model/errors.ts';
import { permitted, type Look } from './look.ts';

/** Limit of names, values and signs in a file; 256 targets with every field need 4,609. The main thread parses it. */
const FILE_TOKENS_MAX = 6_144;

const SCHEMA = jsonSchema(TargetsInputSchema);

/** Parses a list, or an object whose only member `targets` is a list. */
export function targetsIn(path: string, bytes: Uint8Array, defaultPort: number, egress: Egress): Look {
  const document = readDocument(path, bytes, FILE_TOKENS_MAX);
  if (!('value' in document)) return { kind: 'failed', error: problemText(document) };
  const { value } = document;
  const isWrapped = isObject(value) && Object.keys(value).join() === 'targets';
  const list: unknown = isWrapped ? value['targets'] : value;
  const prefix = isWrapped ? '/targets' : '';
  const failed = (errors: readonly FieldError[], offset: string): Look => {
    const problems = errors.map(({ pointer, detail }) => {
      const at = prefix + pointer.slice(offset.length);
      return { ...(document.locate(at) ?? startOf(path)), pointer: at, detail };
    });
    return { kind: 'failed', error: problemText(problems) };
  };
  const errors = validate(SCHEMA, list);
  if (errors.length > 0) return failed(errors, '');
  const read = readList(list as NonNullable<TargetsInput['targets']>, defaultPort);
  if ('errors' in read) return failed(read.errors, '/targets');
  return permitted(read.targets, ({ host, port }) => egress.hostDenial(host, port), []);
}

function problemText(problems: readonly Problem[]): string {
  const [first, ...others] = problems;
  if (first === undefined) return 'it cannot be read';
  const { file, line, column, pointer, detail } = first;
  const place = `${file}:${line}:${column}: ${pointer === '' ? '' : `${pointer} `}${detail}`;
  return others.length === 0 ? place : `${place} (and ${others.length} more)`;
}
