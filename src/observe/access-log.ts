/**
 * One line for every exchange: the same JSON lines as the logger's, built by hand, since this runs for every
 * request. Lines are collected and handed to the output together, every 64 KiB or 100 ms. Owns the buffer
 * and a timer; the output bounds what a slow reader may hold up and counts what had to be dropped.
 *
 * By construction a line has no query, no header value but Host and no credential: there is no field for one. What a
 * client sends is escaped to ASCII and cut to a bounded length, and what looks like a credential in a path is masked.
 */
import { timestamp } from '../kernel/clock.ts';
import { ACCESS_FIELDS, type AccessField, type AccessMode } from '../model/access-fields.ts';
import { maskCredentials, textLine, type LogFormat, type LogLevel } from './log.ts';
import type { LogOutput } from './output.ts';

const FLUSH_CHARACTERS = 65_536;
const FLUSH_MS = 100;
/** Longer texts are cut, and end in `...`. */
const PATH_CHARS_MAX = 1_024;
const HOST_CHARS_MAX = 262;
const DETAIL_CHARS_MAX = 512;

/** Names of what served an exchange; one frozen object per route, so that its text is made once. */
export interface RouteLabels {
  /** Slug of the app. */
  readonly app: string;
  /** Label of the version. */
  readonly version: string;
  /** Label of the revision. */
  readonly revision: string;
  /** Template of the route, never a path as received. */
  readonly route: string;
}

export interface AccessRecord {
  /** Wall clock when the exchange ended, Unix milliseconds. */
  readonly timeMs: number;
  readonly requestId: string;
  /** undefined when no route was found. */
  readonly labels: RouteLabels | undefined;
  /** '' when the request could not be read so far. */
  readonly method: string;
  /** Host and port that the request names; '' without one. */
  readonly host: string;
  /** Of the request, without its query; canonical unless it was refused. '' when it could not be read so far. */
  readonly path: string;
  /** In which the client spoke: `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`. */
  readonly protocol: string;
  readonly status: number;
  /** Body bytes as received from the client and as sent to it. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** From the first byte of the request to the last of the response. */
  readonly durationMs: number;
  /** From the start of forwarding to the head of the response; undefined when nothing was forwarded. */
  readonly upstreamMs: number | undefined;
  /** Id of the API key, or subject of the JWT; undefined for anonymous callers. */
  readonly keyId: string | undefined;
  readonly clientIp: string;
  /** Code of the error that the gateway answered with. */
  readonly errorCode: string | undefined;
  /** What the error was in particular; '' without one. */
  readonly errorDetail: string;
  /** The exchange was given up before the response was complete, by the client or by the gateway. */
  readonly isAborted: boolean;
  /** Parts of the policy in shadow mode that would have denied. */
  readonly wouldDeny: readonly string[] | undefined;
  /** Attempts at the backend beyond the first; named only when there were some. */
  readonly retries: number;
}

export interface AccessLogOptions {
  readonly format: LogFormat;
  readonly mode: Exclude<AccessMode, 'off'>;
  /** Least severe level that is logged: lines are `info`, those of failures `warn`. */
  readonly level: LogLevel;
  readonly fields: readonly AccessField[];
}

/** An access log, or undefined where these options leave no line to write. */
export function createAccessLog(
  output: LogOutput,
  options: Omit<AccessLogOptions, 'mode'> & { readonly mode: AccessMode },
): AccessLog | undefined {
  const { mode, level } = options;
  if (mode === 'off' || level === 'error' || level === 'fatal' || level === 'silent') return undefined;
  return new AccessLog(output, { ...options, mode });
}

export class AccessLog {
  readonly #output: LogOutput;
  readonly #format: LogFormat;
  readonly #errorsOnly: boolean;
  readonly #warningsOnly: boolean;
  readonly #has: Readonly<Record<AccessField, boolean>>;
  readonly #routeFields = new WeakMap<RouteLabels, string>();
  #buffer = '';
  #timer: NodeJS.Timeout | undefined;
  #second = -1;
  #secondText = '';
  #lastHost = '';
  #lastHostField = '';

  constructor(output: LogOutput, { format, mode, level, fields }: AccessLogOptions) {
    this.#output = output;
    this.#format = format;
    this.#errorsOnly = mode === 'errors';
    this.#warningsOnly = level !== 'trace' && level !== 'debug' && level !== 'info';
    this.#has = Object.freeze(
      Object.fromEntries(ACCESS_FIELDS.map((name) => [name, fields.includes(name)])) as Record<
        AccessField,
        boolean
      >,
    );
  }

  /** Whether an exchange that ended like this gets a line; to be asked before its record is made. */
  wants(status: number, errorCode: string | undefined, isAborted: boolean): boolean {
    if (this.#warningsOnly && !isFailure(status, errorCode)) return false;
    return !this.#errorsOnly || status >= 400 || errorCode !== undefined || isAborted;
  }

  /** Writes a line, whatever `wants` says. */
  write(record: AccessRecord): void {
    const line = this.#line(record);
    this.#buffer += this.#format === 'text' ? textLine(line) : line;
    if (this.#buffer.length >= FLUSH_CHARACTERS) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref();
  }

  /** Hands all lines to the output; to be called before the output is flushed at exit. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#buffer === '') return;
    const lines = this.#buffer;
    this.#buffer = '';
    this.#output.write(lines);
  }

  /** Fields are always in the order of ACCESS_FIELDS, so that the choice costs a look at a flag each. */
  #line(r: AccessRecord): string {
    const has = this.#has;
    let line = isFailure(r.status, r.errorCode) ? '{"level":"warn","time":"' : '{"level":"info","time":"';
    line += this.#time(r.timeMs);
    line += '"';
    if (has.request_id) line += `,"request_id":${quoted(r.requestId)}`;
    if (r.labels !== undefined) line += this.#fieldsOf(r.labels);
    if (has.method && r.method !== '') line += `,"method":${quoted(r.method)}`;
    if (has.host && r.host !== '') line += this.#hostField(r.host);
    if (has.path && r.path !== '') line += `,"path":${quotedPath(r.path)}`;
    if (has.protocol) line += `,"protocol":"${r.protocol}"`;
    if (has.status) line += `,"status":${r.status}`;
    if (has.bytes_in) line += `,"bytes_in":${r.bytesIn}`;
    if (has.bytes_out) line += `,"bytes_out":${r.bytesOut}`;
    if (has.duration_ms) line += `,"duration_ms":${milliseconds(r.durationMs)}`;
    if (has.upstream_ms && r.upstreamMs !== undefined) line += `,"upstream_ms":${milliseconds(r.upstreamMs)}`;
    if (has.retries && r.retries !== 0) line += `,"retries":${r.retries}`;
    if (has.key_id && r.keyId !== undefined) line += `,"key_id":${quoted(r.keyId)}`;
    if (has.client_ip) line += `,"client_ip":${quoted(r.clientIp)}`;
    if (r.errorCode !== undefined) line += this.#errorFields(r.errorCode, r.errorDetail);
    if (has.aborted && r.isAborted) line += ',"aborted":true';
    if (has.would_deny && r.wouldDeny !== undefined) line += `,"would_deny":${JSON.stringify(r.wouldDeny)}`;
    return `${line},"msg":"access"}\n`;
  }

  /** Few hosts are asked for, most of them many times in a row. */
  #hostField(host: string): string {
    if (host !== this.#lastHost) {
      this.#lastHost = host;
      this.#lastHostField = `,"host":${quoted(cut(host, HOST_CHARS_MAX))}`;
    }
    return this.#lastHostField;
  }

  #errorFields(code: string, detail: string): string {
    let fields = '';
    if (this.#has.code) fields += `,"code":${quoted(code)}`;
    if (this.#has.detail && detail !== '') {
      fields += `,"detail":${quoted(maskCredentials(cut(detail, DETAIL_CHARS_MAX)))}`;
    }
    return fields;
  }

  #fieldsOf(labels: RouteLabels): string {
    let fields = this.#routeFields.get(labels);
    if (fields === undefined) {
      fields = '';
      for (const name of ['app', 'version', 'revision', 'route'] as const) {
        if (this.#has[name]) fields += `,"${name}":${quoted(labels[name])}`;
      }
      this.#routeFields.set(labels, fields);
    }
    return fields;
  }

  /** RFC 3339 in UTC; all but the milliseconds is made once a second. */
  #time(ms: number): string {
    const second = Math.floor(ms / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#secondText = timestamp(second * 1000).slice(0, -4);
    }
    return `${this.#secondText}${String(Math.floor(ms - second * 1000)).padStart(3, '0')}Z`;
  }
}

/** What an operator should look at: an error of the server's side, or a response that broke off for such a reason. */
function isFailure(status: number, errorCode: string | undefined): boolean {
  return status >= 500 || (errorCode !== undefined && status < 400);
}

/**
 * With three decimals, from whole microseconds: numbers with a fraction are several times as dear to print.
 * What is no time (NaN, a clock gone wrong) is 0.
 */
function milliseconds(ms: number): string {
  const micros = ms > 0 && ms < 1e12 ? Math.round(ms * 1000) : 0;
  const whole = Math.floor(micros / 1000);
  const rest = micros - whole * 1000;
  return `${whole}.${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}`;
}

/** Everything that JSON needs to escape, and all that is not ASCII. */
const UNSAFE = /[^\x20\x21\x23-\x5b\x5d-\x7e]/;

/** A JSON string in ASCII, so that lines have as many bytes as characters. */
function quoted(text: string): string {
  return UNSAFE.test(text) ? asciiJson(text) : `"${text}"`;
}

function asciiJson(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function quotedPath(path: string): string {
  const short = cut(path, PATH_CHARS_MAX);
  return quoted(mayHoldCredential(short) ? maskCredentials(short) : short);
}

/** Whether it has what each of the credentials has that `maskCredentials` knows of, and few paths have. */
function mayHoldCredential(path: string): boolean {
  return path.includes('_') || path.includes('@') || path.includes('eyJ');
}

function cut(text: string, charsMax: number): string {
  return text.length > charsMax ? `${text.slice(0, charsMax - 3)}...` : text;
}
