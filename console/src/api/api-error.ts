/** What can go wrong with a call of the management API, as the console tells it. */
import type { FieldError, Problem } from './schema.ts';

/** The API answered with a problem document (RFC 9457). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: Problem['code'] | 'unknown';
  readonly requestId: string;
  readonly fields: readonly FieldError[];
  /** The whole document, for members that one code alone has. */
  readonly problem: Readonly<Record<string, unknown>>;

  constructor(status: number, problem: Partial<Problem>) {
    super(problem.detail ?? problem.title ?? `The gateway answered with status ${status}`);
    this.name = 'ApiError';
    this.status = status;
    this.code = problem.code ?? 'unknown';
    this.requestId = problem.request_id ?? '';
    this.fields = problem.errors ?? [];
    this.problem = problem;
  }

  /** The message for the field at a pointer (RFC 6901), or below it. */
  fieldMessage(pointer: string): string | undefined {
    return this.fields.find((field) => field.pointer === pointer || field.pointer.startsWith(`${pointer}/`))
      ?.detail;
  }
}

/** No answer at all: the gateway restarts, or the network is away. What was sent may or may not have been done. */
export class GatewayUnreachable extends Error {
  constructor(cause: unknown) {
    super('The gateway does not answer', { cause });
    this.name = 'GatewayUnreachable';
  }
}

/** Another write came first: the record is no longer what this page has read (RFC 9110 section 13.1.1). */
export function isConflictOfVersions(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 412;
}
