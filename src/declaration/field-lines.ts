/**
 * Errors and warnings about fields as lines of text. Every place that shows them as text has this form: the detail of a
 * problem document, commands, the log, and a start that fails.
 */
import type { FieldError } from '../model/errors.ts';
import type { Place } from './yaml-reader.ts';

/** A field in the body of a call, or in a file. */
type Located<T extends { readonly pointer: string }> = T | (T & Place);

/** `file:line:column`, as editors and terminals link it. */
export function placeText({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

/** `pointer detail`, or `file:line:column: pointer detail` as compilers write it. The detail is a predicate. */
export function errorLine(error: Located<FieldError>): string {
  const { pointer, detail } = error;
  if ('file' in error) return `${placeText(error)}: ${pointer === '' ? '' : `${pointer} `}${detail}`;
  return `${pointer === '' ? 'The body' : pointer} ${detail}`;
}

/** Like `errorLine`, with a colon after the pointer: the detail of a warning is a sentence. */
export function warningLine(warning: Located<FieldError>): string {
  const { pointer, detail } = warning;
  const place = 'file' in warning ? `${placeText(warning)}: ` : '';
  return `${place}${pointer === '' ? '' : `${pointer}: `}${detail}`;
}
