/**
 * Errors and warnings about fields, in the body of a call or in a file, as lines of text. Every place that shows them
 * as text has this form: the detail of a problem document, commands, the log, and a start that fails.
 */
import { valueAt } from '../lib/text/json-pointer.ts';
import type { FieldError } from '../model/errors.ts';

/** A place in a file; line and column count from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A problem of a declared configuration. */
export interface Problem extends Place {
  /** JSON pointer (RFC 6901) to the value; '' for the whole document. */
  readonly pointer: string;
  readonly detail: string;
}

/** The place of a file as a whole. */
export function startOf(file: string): Place {
  return { file, line: 1, column: 1 };
}

/** A problem of a file as a whole. */
export function fileProblem(file: string, detail: string): Problem {
  return { ...startOf(file), pointer: '', detail };
}

/** `file:line:column`, as editors and terminals link it. */
export function positionText({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

const LINE_BREAK_SENTENCE = 'the value ends in a line break';

/**
 * The same errors; of a text that ends in a line break, which no message shows, they say so: a variable or a file often
 * brings one along.
 * @param value what the pointers lead into
 */
export function withLineBreaks<E extends FieldError>(errors: readonly E[], value: unknown): readonly E[] {
  const isBroken = ({ pointer, detail }: E): boolean => {
    const text = valueAt(value, pointer);
    return typeof text === 'string' && /[\r\n]$/.test(text) && !detail.endsWith(LINE_BREAK_SENTENCE);
  };
  return errors.map((error) =>
    isBroken(error) ? { ...error, detail: `${error.detail}; ${LINE_BREAK_SENTENCE}` } : error,
  );
}

/** `pointer detail`, or `file:line:column: pointer detail` as compilers write it. The detail is a predicate. */
export function errorLine(error: FieldError | Problem): string {
  const { pointer, detail } = error;
  if ('file' in error) return `${positionText(error)}: ${pointer === '' ? '' : `${pointer} `}${detail}`;
  return `${pointer === '' ? 'The body' : pointer} ${detail}`;
}

/** Like `errorLine`, with a colon after the pointer: the detail of a warning is a sentence. */
export function warningLine(warning: FieldError | Problem): string {
  const { pointer, detail } = warning;
  const place = 'file' in warning ? `${positionText(warning)}: ` : '';
  return `${place}${pointer === '' ? '' : `${pointer}: `}${detail}`;
}
