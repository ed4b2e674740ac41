/**
 * The logger: pino, one JSON object per line, or text for people. Lines go to a LogOutput, so that every thread has its
 * own logger on the same standard output. Two filters keep secrets out: values of sensitive fields are replaced, and
 * anything in the finished line that looks like a credential is masked. access-log.ts writes access log lines.
 */
import { pino } from 'pino';
import { timestamp, type Clock } from '../lib/clock.ts';
import { visibleJson } from '../lib/text/visible-json.ts';
import type { LogOutput } from './log-output.ts';

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
  /** Gets each line as JSON, whatever the format, with its secrets masked. May not log. */
  readonly onLine?: ((line: string) => void) | undefined;
}

/** Fields whose values are never shown, at the top of a line and up to two levels below. */
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
 * Creates a logger. Lines have `time` (RFC 3339, UTC), `level` (a word), the base fields, the fields of the call and
 * `msg`; an error is in `err`, with its stack if it is a defect.
 */
export function createLogger(options: LoggerOptions): Logger {
  const { output, clock, onLine } = options;
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
    {
      write: (line: string) => {
        output.write(finish(line));
        onLine?.(line);
      },
    },
  );
}

/**
 * Error codes of the system (ECONNREFUSED, ENOSPC), and SQLSTATE codes of a database server that cannot answer (57P01).
 */
const CODE_FROM_OUTSIDE = /^(?:E(?!BADF|FAULT|INVAL)[A-Z0-9]+|(?:08|25|28|3D|40|53|57|58)[0-9A-Z]{3})$/;
/** Our own errors that describe a problem outside the program. */
const NAMES_FROM_OUTSIDE: ReadonlySet<string> = new Set(['StorageUnavailable']);

/**
 * Formats an error. A problem outside the program (an unreachable database, server or disk) is one sentence. Only a
 * defect has a stack, since only then does the place in the program matter.
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

/** The line that an output writes after it dropped others. */
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

/** Gateway tokens, bearer credentials and the user information of URLs. */
const CREDENTIALS =
  /\bhg[a-z]{1,4}_[\w-]{20,}|\b(Bearer|Basic) +[\w.~+/-]{6,}=*|(?<=:\/\/)[^\s/?#@"\\:]*:[^\s/?#@"\\]*(?=@)/gi;

/** Masks what looks like a credential in a finished line; exported for tests and for crash messages. */
export function maskCredentials(line: string): string {
  return maskTokens(line).replace(CREDENTIALS, (_match, scheme: string | undefined) =>
    scheme === undefined ? '***' : `${scheme} ***`,
  );
}

/** Start of every JWT header: `{"` in base64url. */
const TOKEN_START = 'eyJ';
const TOKEN_PART = /[\w-]*/y;
const WORD = /\w/;
const FIRST_PART_CHARS_MIN = 11;

/**
 * Masks JWTs. Not a regular expression, which would read the rest of a text again from each place where a token may
 * start.
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
    // Every candidate in the same part has the same end.
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

/** `2026-01-31T12:00:00.000Z WARN  message key=value err="a message"`; a stack has its own lines. */
export function textLine(json: string): string {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(json) as Record<string, unknown>;
  } catch {
    return json;
  }
  const { time, level, msg, err, ...rest } = fields;
  const head = `${String(time)} ${String(level).toUpperCase().padEnd(5)} ${printable(textOf(msg ?? ''))}`;
  const pairs = Object.entries(rest).map(([name, value]) => ` ${name}=${fieldText(value)}`);
  return `${head}${pairs.join('')}${errorText(err)}\n`;
}

function errorText(err: unknown): string {
  if (typeof err !== 'object' || err === null) return '';
  const { stack, message } = err as { stack?: unknown; message?: unknown };
  if (typeof stack !== 'string') return ` err=${fieldText(String(message))}`;
  return `\n${stack
    .split('\n')
    .map((line) => `    ${printable(line)}`)
    .join('\n')}`;
}

/** A value from outside cannot start a new line, control a terminal, or look like the next field. */
function fieldText(value: unknown): string {
  return typeof value === 'string' && /[\s"]/.test(value) ? visibleJson(value) : printable(textOf(value));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** In a JSON text, exactly what controls a terminal or changes the direction of text is escaped. */
function printable(text: string): string {
  return text.replaceAll(/[^ -~]/gu, (character) => visibleJson(character).slice(1, -1));
}
