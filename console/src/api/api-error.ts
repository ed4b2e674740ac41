/** The errors of a call of the management API, as the console shows them. */
import { words } from '../text/words.ts';
import type { FieldError, Problem } from './schema.ts';

/** The API answered with a problem document (RFC 9457). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: Problem['code'] | 'unknown';
  readonly requestId: string;
  readonly fields: readonly FieldError[];
  /** The whole document, for members that only one code has. */
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

  /** The message for the field at a pointer (RFC 6901), or those below it; of a list they name its entries. */
  fieldMessage(pointer: string): string | undefined {
    const own = this.fields.find((field) => field.pointer === pointer);
    if (own !== undefined) return own.detail;
    const below = this.fields.filter((field) => field.pointer.startsWith(`${pointer}/`));
    const texts = below.map((field) => {
      const [name = ''] = field.pointer.slice(pointer.length + 1).split('/');
      return /^\d+$/.test(name) ? words.entry(Number(name) + 1, field.detail) : field.detail;
    });
    return texts.length === 0 ? undefined : [...new Set(texts)].join('; ');
  }
}

/** The message for the field at a pointer, when the API has refused its value. */
export function fieldMessage(error: unknown, pointer: string): string | undefined {
  return error instanceof ApiError ? error.fieldMessage(pointer) : undefined;
}

/** No answer at all: the gateway restarts, or the network is away. What was sent may or may not have been done. */
export class GatewayUnreachable extends Error {
  constructor(cause: unknown) {
    super('The gateway does not answer', { cause });
    this.name = 'GatewayUnreachable';
  }
}

/** Whether the call may succeed once the gateway, or its database, is back. */
export function isAway(error: unknown): boolean {
  return (
    error instanceof GatewayUnreachable || (error instanceof ApiError && error.code === 'storage_unavailable')
  );
}

/** Another write came first: the record has changed since this page read it (RFC 9110 section 13.1.1). */
export function isConflictOfVersions(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 412;
}
