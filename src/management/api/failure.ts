/**
 * The types that parts of the management API return: an answer, or a failure that becomes a problem document (RFC
 * 9457). Failures are values; only programmer errors and a failing database are thrown.
 */
import { errorLine, withLineBreaks } from '../../declaration/field-lines.ts';
import type { ErrorCode, FieldError } from '../../model/errors.ts';
import type { Warning } from '../../model/warnings.ts';

export interface Failure {
  readonly failure: ErrorCode;
  /** For people: action, value, wanted state. Never contains a secret. */
  readonly detail: string;
  readonly errors?: readonly FieldError[];
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** An object is sent as JSON; a string, bytes and a stream unchanged; undefined sends no body. */
  readonly body: object | string | undefined;
  /** Values of `Set-Cookie`. */
  readonly cookies?: readonly string[];
}

export interface PageInfo {
  readonly limit: number;
  readonly next_cursor: string | null;
  readonly total: number;
}

export function isFailure(value: object): value is Failure {
  return 'failure' in value;
}

export function fail(failure: ErrorCode, detail: string, errors?: readonly FieldError[]): Failure {
  return { failure, detail, ...(errors === undefined ? {} : { errors }) };
}

/** 422 for a list of field errors; the detail describes the first one. */
export function invalid(errors: readonly FieldError[]): Failure {
  const first = errors[0];
  if (first === undefined) return fail('validation_failed', 'The body is not valid', errors);
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return fail('validation_failed', errorLine(first) + more, errors);
}

/** A failure about a part of the body, as one of the whole body. */
export function failureAt(pointer: string, { failure, detail, errors }: Failure): Failure {
  const placed = (errors ?? [{ pointer: '', detail }]).map((error) => ({
    pointer: pointer + error.pointer,
    detail: error.detail,
  }));
  return { ...invalid(placed), failure };
}

/** The same failure, which names the line breaks at the end of refused texts. @param body of the call */
export function failureWith(failure: Failure, body: unknown): Failure {
  const { detail, errors = [] } = failure;
  const told = withLineBreaks(errors, body);
  const [first, toldFirst] = [errors[0], told[0]];
  if (first === undefined || toldFirst === undefined) return failure;
  return { ...failure, detail: detail.replace(errorLine(first), () => errorLine(toldFirst)), errors: told };
}

/** 409 about one field. */
export function conflict(pointer: string, detail: string): Failure {
  const error = { pointer, detail };
  return fail('conflict', errorLine(error), [error]);
}

export function notFound(what: string, reference: string): Failure {
  return fail('not_found', `There is no ${what} "${reference}" here`);
}

/** The success envelope. */
export function answer(
  status: number,
  message: string,
  data: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return { status, headers, body: { status, message, data } };
}

/** The same answer with warnings; an answer without a body has none. */
export function withWarnings(plain: Answer, warnings: readonly Warning[] = []): Answer {
  if (warnings.length === 0 || typeof plain.body !== 'object') return plain;
  return { ...plain, body: { ...plain.body, warnings } };
}

export function listAnswer(message: string, data: readonly unknown[], page: PageInfo): Answer {
  return { status: 200, headers: {}, body: { status: 200, message, data, page } };
}

export function emptyAnswer(status: 204 | 304, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers, body: undefined };
}
