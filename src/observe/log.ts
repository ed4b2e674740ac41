/**
 * The logger: pino, one JSON object per line, or text for people. Lines go to a LogOutput, so that every
 * thread has a logger of its own on the same standard output. Two nets keep secrets out: fields with telling
 * names are replaced, and anything that looks like a credential is masked in the finished line.
 * Does not write access log lines (access-log.ts).
 */
import { pino } from 'pino';
import { timestamp, type Clock } from '../lib/clock.ts';
import type { LogOutput } from './output.ts';

export type Logger = pino.Logger;
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
export type LogFormat = 'json' | 'text';

export interface LoggerOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly output: Pick<LogOutput, 'write'>;
  readonly clock: Clock;
  /** Fields of every line, for example `{ worker: 2 }`. */
  readonly base?: Readonly<Record<string, string | number>>;
}

/** Field names whose values are never shown, at the top of a line and up to two levels below. */
const SECRET_FIELDS = [
  'authorization',
  'Authorization',
  '["proxy-authorization"]',
  'cookie',
  '["set-cookie"]',
  'token',
  'secret',
  'password',
  'adminToken',
  'token_hash',
  'previous_token_hash',
];

const REDACTED_PATHS = ['', '*', '*.*'].flatMap((prefix) =>
  SECRET_FIELDS.map((name) => (prefix === '' || name.startsWith('[') ? prefix + name : `${prefix}.${name}`)),
);

/**
 * Creates a logger. Lines have `time` (RFC 3339, UTC), `level` (a word), the base fields, the fields of the
 * call and `msg`; an error goes under `err`, with its stack if it is a defect.
 */
export function createLogger(options: LoggerOptions): Logger {
  const { output, clock } = options;
  const finish = options.format === 'text' ? textLine : (line: string): string => line;
  return pino(
    {
      level: options.level,
      base: { ...options.base },
      timestamp: () => `,"time":"${timestamp(clock.nowMs())}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED_PATHS, censor: '[redacted]' },
      hooks: { streamWrite: maskCredentials },
      serializers: { err: errorFields },
    },
    { write: (line: string) => output.write(finish(line)) },
  );
}

/** Of the system (ECONNREFUSED, ENOSPC), and SQLSTATE of a database server that is in no state to answer (57P01). */
const CODE_FROM_OUTSIDE = /^(?:E(?!BADF|FAULT|INVAL)[A-Z0-9]+|(?:08|25|28|3D|40|53|57|58)[0-9A-Z]{3})$/;
/** Errors of our own that say what is wrong outside of the program. */
const NAMES_FROM_OUTSIDE: ReadonlySet<string> = new Set(['StorageUnavailable']);

/**
 * An error as it is logged. What goes wrong outside of the program (a database, a server or a disk that is away) is told
 * in a sentence; where in the program that was noticed helps only with a defect, so only that has a stack.
 */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (!isFromOutside(error)) return pino.stdSerializers.err(error);
  const { message, code } = error as Error & { readonly code?: unknown };
  return { type: error.name, message, ...(typeof code === 'string' && { code }) };
}

function isFromOutside(error: Error): boolean {
  const { code } = error as { readonly code?: unknown };
  return NAMES_FROM_OUTSIDE.has(error.name) || (typeof code === 'string' && CODE_FROM_OUTSIDE.test(code));
}

/** The line that an output writes after it had to drop others. */
export function gapLine(format: LogFormat, clock: Clock): (lines: number) => string {
  return (lines) => {
    const fields = {
      level: 'warn',
      time: timestamp(clock.nowMs()),
      dropped: lines,
      msg: 'Dropped log lines: standard output was not read in time',
    };
    const line = `${JSON.stringify(fields)}\n`;
    return format === 'text' ? textLine(line) : line;
  };
}

/** Gateway tokens, bearer credentials and the user information of URLs, wherever they stand. */
const CREDENTIALS =
  /\bhg[a-z]{1,4}_[\w-]{20,}|\b(Bearer|Basic) +[\w.~+/-]{6,}=*|(?<=:\/\/)[^\s/?#@"\\:]*:[^\s/?#@"\\]*(?=@)/gi;

/** Masks what looks like a credential in a finished line; exported for the tests and for crash messages. */
export function maskCredentials(line: string): string {
  return maskTokens(line).replace(CREDENTIALS, (_match, scheme: string | undefined) =>
    scheme === undefined ? '***' : `${scheme} ***`,
  );
}

/** The header of a JWT begins so: `{"` in base64url. */
const TOKEN_START = 'eyJ';
const TOKEN_PART = /[\w-]*/y;
const WORD = /\w/;
const FIRST_PART_CHARS_MIN = 11;

/**
 * Masks JWTs. By hand, because a regular expression would read the rest of a text again from each of the many places
 * where one may begin.
 */
function maskTokens(line: string): string {
  let masked = '';
  let from = 0;
  let next = 0;
  for (let at = line.indexOf(TOKEN_START); at >= 0; at = line.indexOf(TOKEN_START, next)) {
    next = at + 1;
    if (at > 0 && WORD.test(line.charAt(at - 1))) continue;
    const first = partEnd(line, at);
    const second = line[first] === '.' ? partEnd(line, first + 1) : first;
    // All that begin in the same part end in the same way.
    next = first;
    if (first - at < FIRST_PART_CHARS_MIN || second <= first + 1 || line[second] !== '.') continue;
    next = partEnd(line, second + 1);
    masked += `${line.slice(from, at)}***`;
    from = next;
  }
  return from === 0 ? line : masked + line.slice(from);
}

function partEnd(line: string, at: number): number {
  TOKEN_PART.lastIndex = at;
  TOKEN_PART.test(line);
  return TOKEN_PART.lastIndex;
}

/** `2026-01-31T12:00:00.000Z WARN  message key=value err=message`; a stack is on lines of its own. */
export function textLine(json: string): string {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(json) as Record<string, unknown>;
  } catch {
    return json;
  }
  const { time, level, msg, err, ...rest } = fields;
  const head = `${String(time)} ${String(level).toUpperCase().padEnd(5)} ${printable(msg ?? '')}`;
  const pairs = Object.entries(rest).map(([name, value]) => ` ${name}=${printable(value)}`);
  return `${head}${pairs.join('')}${errorText(err)}\n`;
}

function errorText(err: unknown): string {
  if (typeof err !== 'object' || err === null) return '';
  const { stack, message } = err as { stack?: unknown; message?: unknown };
  if (typeof stack !== 'string') return ` err=${printable(String(message))}`;
  return `\n${stack
    .split('\n')
    .map((line) => `    ${withoutControls(line)}`)
    .join('\n')}`;
}

/** Values from outside must not be able to start a line of their own or to drive a terminal. */
function printable(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return withoutControls(text);
}

function withoutControls(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
