/**
 * A caller's note about a write: where it comes from, which Git commit it applies, and why. It is stored with the
 * config version that the write creates. Grants nothing and proves nothing. Pure.
 */
import type { JsonSchema } from '../../model/json-schema.ts';
import { NO_NUL_PATTERN } from '../../model/patterns.ts';
import { fail, type Failure } from '../api/failure.ts';

export const WRITE_SOURCES = ['api', 'cli', 'console', 'import'] as const;
export type WriteSource = (typeof WRITE_SOURCES)[number];

export interface WriteNote {
  readonly source: WriteSource;
  /** Git commit, 7 to 64 lower-case hex digits; null where none is known. */
  readonly commit: string | null;
  /** At most `MESSAGE_CHARS_MAX` characters; null when none was given. */
  readonly message: string | null;
}

export const SOURCE_HEADER = 'Headgate-Source';
export const MESSAGE_HEADER = 'Headgate-Message';
export const MESSAGE_CHARS_MAX = 1_000;

/** For calls that write nothing. */
export const NO_NOTE: WriteNote = Object.freeze({ source: 'api', commit: null, message: null });

const SOURCE = /^([a-z]+)(?:[ \t]*;[ \t]*commit=([0-9A-Fa-f]+))?$/;
const COMMIT_DIGITS_MIN = 7;
const COMMIT_DIGITS_MAX = 64;

/** `message` in the body of a call that takes one; it goes before the header. */
export const MESSAGE_FIELD: JsonSchema = {
  type: 'string',
  maxLength: MESSAGE_CHARS_MAX,
  pattern: NO_NUL_PATTERN,
  description: 'Reason for the write, for the history and the audit log.',
};

/** A call, with the message of its body if that has one. */
export function withMessage<C extends WriteNote & { readonly body: unknown }>(call: C): C {
  const { message } = (call.body ?? {}) as { readonly message?: string };
  return message === undefined || message === '' ? call : { ...call, message };
}

type HeaderFields = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * @param headers with lower-case names
 * @returns 400 naming the header that is wrong
 */
export function readWriteNote(headers: HeaderFields): WriteNote | Failure {
  const source = readSource(headers[SOURCE_HEADER.toLowerCase()]);
  if ('failure' in source) return source;
  const message = readMessage(headers[MESSAGE_HEADER.toLowerCase()]);
  if (typeof message === 'object' && message !== null) return message;
  return { ...source, message };
}

function readSource(
  header: string | readonly string[] | undefined,
): Pick<WriteNote, 'source' | 'commit'> | Failure {
  if (header === undefined) return { source: 'api', commit: null };
  const [, name, commit] = SOURCE.exec(String(header).trim()) ?? [];
  const source = WRITE_SOURCES.find((known) => known === name);
  if (source === undefined) {
    return refused(
      SOURCE_HEADER,
      `must be one of ${WRITE_SOURCES.join(', ')}, optionally followed by "; commit=" and hexadecimal digits`,
    );
  }
  if (commit === undefined) return { source, commit: null };
  if (commit.length < COMMIT_DIGITS_MIN || commit.length > COMMIT_DIGITS_MAX) {
    return refused(
      SOURCE_HEADER,
      `must have a commit of ${COMMIT_DIGITS_MIN} to ${COMMIT_DIGITS_MAX} hexadecimal digits`,
    );
  }
  return { source, commit: commit.toLowerCase() };
}

function readMessage(header: string | readonly string[] | undefined): string | null | Failure {
  if (header === undefined) return null;
  let text: string;
  try {
    text = decodeURIComponent(String(header)).trim();
  } catch {
    return refused(MESSAGE_HEADER, 'must be percent-encoded UTF-8');
  }
  if (Array.from(text).length > MESSAGE_CHARS_MAX) {
    return refused(MESSAGE_HEADER, `must have at most ${MESSAGE_CHARS_MAX} characters`);
  }
  // oxlint-disable-next-line no-control-regex -- they are what is refused
  if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(text)) {
    return refused(MESSAGE_HEADER, 'must not contain control characters');
  }
  return text === '' ? null : text;
}

function refused(header: string, detail: string): Failure {
  return fail('bad_request', `The header ${header} ${detail}`);
}
