/**
 * The logger: pino, one JSON object per line, or text for people. Lines go to a LogOutput, so that every
 * thread has a logger of its own on the same standard output. Two nets keep secrets out: fields with telling
 * names are replaced, and anything that looks like a credential is masked in the finished line.
 * Does not write access log lines (access-log.ts).
 */
import { pino } from 'pino';
import { timestamp, type Clock } from '../kernel/clock.ts';
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
 * call and `msg`; an error goes under `err`.
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
    },
    { write: (line: string) => output.write(finish(line)) },
  );
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

/** Gateway tokens, bearer credentials, JWTs and the user information of URLs, wherever they stand. */
const CREDENTIALS =
  /\bhg[a-z]{1,4}_[\w-]{20,}|\b(Bearer|Basic) +[\w.~+/-]{6,}=*|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*|(?<=:\/\/)[^\s/?#@"\\]*:[^\s/?#@"\\]*(?=@)/gi;

/** Masks what looks like a credential in a finished line; exported for the tests and for crash messages. */
export function maskCredentials(line: string): string {
  return line.replace(CREDENTIALS, (_match, scheme: string | undefined) =>
    scheme === undefined ? '***' : `${scheme} ***`,
  );
}

/** `2026-01-31T12:00:00.000Z WARN  message key=value`, with a stack, if any, on lines of its own. */
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
  const text = typeof stack === 'string' ? stack : String(message);
  return `\n${text
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
