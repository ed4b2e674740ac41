/**
 * One line per exchange: the same JSON lines as the logger's, built by hand because this runs for every request. What
 * a line shares with the previous one (second, route, host, key, address) is cached. Lines are collected as bytes and
 * passed to the output together, after at most 100 ms. Owns the collected bytes and a timer; the output is bounded and
 * counts dropped lines.
 *
 * By construction a line has no query, no header value except Host, and no credential: no field can contain one. Client
 * data is escaped to ASCII and truncated, and anything in a path that looks like a credential is masked.
 */
import { cut } from './cut.ts';
import { timestamp } from '../lib/clock.ts';
import { ACCESS_FIELDS, type AccessField, type AccessMode } from '../model/access-fields.ts';
import { maskCredentials, textLine, type LogFormat, type LogLevel } from './log.ts';
import { LineBytes } from './line-bytes.ts';
import type { LogOutput } from './log-output.ts';

/** Small enough to be in the processor's cache when it is copied to the output. */
const BATCH_BYTES = 8_192;
const FLUSH_MS = 100;
/** Longer paths are truncated and end in `...`. */
const PATH_CHARS_MAX = 1_024;
const HOST_CHARS_MAX = 262;
const DETAIL_CHARS_MAX = 512;

/** Names of what served an exchange; one frozen object per route, so that its text is built once. */
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

/** Names for an exchange without a route: the version that its path leads to. */
export type PlaceLabels = Pick<RouteLabels, 'app' | 'version'> & Partial<RouteLabels>;

export interface AccessRecord {
  /** Wall clock when the exchange ended, Unix milliseconds. */
  readonly timeMs: number;
  readonly requestId: string;
  /** undefined when no version was found. */
  readonly labels: PlaceLabels | undefined;
  /** '' when the request was not read this far. */
  readonly method: string;
  /** Host and port of the request; '' when it has none. */
  readonly host: string;
  /** Path without the query; canonical unless it was refused. '' when the request was not read this far. */
  readonly path: string;
  /** Protocol of the client: `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`. */
  readonly protocol: string;
  readonly status: number;
  /** Body bytes received from the client and sent to it. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** From the first byte of the request to the last of the response. */
  readonly durationMs: number;
  /** From the start of forwarding to the head of the response; undefined when nothing was forwarded. */
  readonly upstreamMs: number | undefined;
  /** Id of the API key, or subject of the JWT; undefined for anonymous callers. */
  readonly keyId: string | undefined;
  readonly clientIp: string;
  /** Code of the error response of the gateway. */
  readonly errorCode: string | undefined;
  /** Details of the error; '' when there are none. */
  readonly errorDetail: string;
  /** The client or the gateway aborted the exchange before the response was complete. */
  readonly isAborted: boolean;
  /** Parts of the policy in shadow mode that would have denied. */
  readonly shadowDenials: readonly string[] | undefined;
  /** Absent while traces are not exported. */
  readonly traceId?: string | undefined;
  /** Protocol to the backend, if it is not HTTP/1.1. */
  readonly upstreamProtocol?: string | undefined;
  /** Target of the latest attempt; absent when the revision has only one. */
  readonly target?: string | undefined;
  /** Attempts at the backend after the first; logged if there were any. */
  readonly retries: number;
}

export interface AccessLogOptions {
  readonly format: LogFormat;
  readonly mode: Exclude<AccessMode, 'off'>;
  /** Least severe level that is logged: failures are `warn`, other lines `info`. */
  readonly level: LogLevel;
  readonly fields: readonly AccessField[];
}

/** An access log, or undefined if these options select no line. */
export function createAccessLog(
  output: LogOutput,
  options: Omit<AccessLogOptions, 'mode'> & { readonly mode: AccessMode },
): AccessLog | undefined {
  const { mode, level } = options;
  if (mode === 'off' || level === 'error' || level === 'fatal' || level === 'silent') return undefined;
  return new AccessLog(output, { ...options, mode });
}

const INFO_START = '{"level":"info","time":"';
const WARN_START = '{"level":"warn","time":"';
const QUOTE = 0x22;
const DOT = 0x2e;
const TIME_END = ascii('Z"');
const TIME_END_AND_REQUEST_ID = ascii('Z","request_id":"');
const TRACE_ID = ascii(',"trace_id":"');
const BYTES_OUT = ascii(',"bytes_out":');
const DURATION = ascii(',"duration_ms":');
const UPSTREAM = ascii(',"upstream_ms":');
const END = ascii(',"msg":"access"}\n');

/** Values that the next line may share with the last one, and the bytes that were built from them. */
interface LastPlace {
  labels: PlaceLabels | undefined;
  method: string;
  host: string;
  hasPath: boolean;
  bytes: Uint8Array;
}

interface LastOutcome {
  protocol: string;
  status: number;
  bytes: Uint8Array;
}

interface LastCaller {
  keyId: string | undefined;
  clientIp: string;
  bytes: Uint8Array;
}

const NOTHING = ascii('');

export class AccessLog {
  readonly #output: LogOutput;
  readonly #format: LogFormat;
  readonly #errorsOnly: boolean;
  readonly #warningsOnly: boolean;
  readonly #has: Readonly<Record<AccessField, boolean>>;
  readonly #routeFields = new WeakMap<PlaceLabels, string>();
  readonly #lines = new LineBytes();
  #timer: NodeJS.Timeout | undefined;
  #second = -1;
  #infoStart = NOTHING;
  #warnStart = NOTHING;
  readonly #place: LastPlace = {
    labels: undefined,
    method: '',
    host: '',
    hasPath: false,
    bytes: NOTHING,
  };
  readonly #outcome: LastOutcome = { protocol: '', status: -1, bytes: NOTHING };
  readonly #caller: LastCaller = { keyId: undefined, clientIp: '', bytes: NOTHING };

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

  /** Whether an exchange with this outcome gets a line. Call it before building the record. */
  wants(status: number, errorCode: string | undefined, isAborted: boolean): boolean {
    if (this.#warningsOnly && !isFailure(status, errorCode)) return false;
    return !this.#errorsOnly || status >= 400 || errorCode !== undefined || isAborted;
  }

  /** Writes a line even if `wants` returned false. */
  write(record: AccessRecord): void {
    const lines = this.#lines;
    const start = lines.length;
    this.#addLine(record);
    if (this.#format === 'text') lines.rewrite(start, textLine);
    if (lines.length >= BATCH_BYTES) this.#output.append(lines.take());
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref();
  }

  /** Writes all lines before it returns; for the end of the thread. */
  flushSync(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#output.flushSync(this.#lines.take());
  }

  /** Passes all lines to the output. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines.length > 0) this.#output.append(this.#lines.take());
    this.#output.push();
  }

  /** Fields always have the order of ACCESS_FIELDS, so that selecting them costs one check each. */
  #addLine(r: AccessRecord): void {
    const has = this.#has;
    const lines = this.#lines;
    this.#addTime(r.timeMs, isFailure(r.status, r.errorCode));
    if (has.request_id) addText(lines, r.requestId);
    if (r.traceId !== undefined && has.trace_id) {
      lines.piece(TRACE_ID);
      lines.text(r.traceId);
      lines.byte(QUOTE);
    }
    lines.piece(this.#placeFields(r));
    if (has.path && r.path !== '') addPath(lines, r.path);
    lines.piece(this.#outcomeFields(r));
    if (has.bytes_in) lines.number(r.bytesIn);
    if (has.bytes_out) {
      lines.piece(BYTES_OUT);
      lines.number(r.bytesOut);
    }
    if (has.duration_ms) addMilliseconds(lines, DURATION, r.durationMs);
    if (has.upstream_ms && r.upstreamMs !== undefined) addMilliseconds(lines, UPSTREAM, r.upstreamMs);
    if (r.upstreamProtocol !== undefined && has.upstream_protocol)
      lines.text(`,"upstream_protocol":"${r.upstreamProtocol}"`);
    if (r.target !== undefined && has.target) lines.text(`,"target":${quoted(r.target)}`);
    if (has.retries && r.retries !== 0) lines.text(`,"retries":${r.retries}`);
    lines.piece(this.#callerFields(r));
    if (r.errorCode !== undefined) lines.text(this.#errorFields(r.errorCode, r.errorDetail));
    if (has.aborted && r.isAborted) lines.text(',"aborted":true');
    if (has.would_deny && r.shadowDenials !== undefined)
      lines.text(`,"would_deny":${asciiJson(r.shadowDenials)}`);
    lines.piece(END);
  }

  /** Level, RFC 3339 in UTC, and the name of the next field; all but the milliseconds is built once a second. */
  #addTime(timeMs: number, isWarning: boolean): void {
    const ms = Math.floor(timeMs);
    const second = Math.floor(ms / 1000);
    if (second !== this.#second) {
      this.#second = second;
      const text = timestamp(second * 1000).slice(0, -4);
      this.#infoStart = ascii(INFO_START + text);
      this.#warnStart = ascii(WARN_START + text);
    }
    this.#lines.piece(isWarning ? this.#warnStart : this.#infoStart);
    this.#lines.threeDigits(ms - second * 1000);
    this.#lines.piece(this.#has.request_id ? TIME_END_AND_REQUEST_ID : TIME_END);
  }

  /** Route, method and host, and the name of the path if there is one. */
  #placeFields({ labels, method, host, path }: AccessRecord): Uint8Array {
    const last = this.#place;
    const hasPath = path !== '';
    if (last.labels === labels && last.method === method && last.host === host && last.hasPath === hasPath) {
      // Many heads share one object for their host: it equals itself at once.
      last.host = host;
      return last.bytes;
    }
    const has = this.#has;
    let text = labels === undefined ? '' : this.#fieldsOf(labels);
    if (has.method && method !== '') text += `,"method":${quoted(method)}`;
    if (has.host && host !== '') text += `,"host":${quoted(cut(host, HOST_CHARS_MAX))}`;
    if (has.path && hasPath) text += ',"path":"';
    [last.labels, last.method, last.host, last.hasPath] = [labels, method, host, hasPath];
    last.bytes = ascii(text);
    return last.bytes;
  }

  /** Protocol and status, and the name of the next field. */
  #outcomeFields({ protocol, status }: AccessRecord): Uint8Array {
    const last = this.#outcome;
    if (last.status === status && last.protocol === protocol) return last.bytes;
    let text = this.#has.protocol ? `,"protocol":"${protocol}"` : '';
    if (this.#has.status) text += `,"status":${status}`;
    if (this.#has.bytes_in) text += ',"bytes_in":';
    [last.status, last.protocol, last.bytes] = [status, protocol, ascii(text)];
    return last.bytes;
  }

  #callerFields({ keyId, clientIp }: AccessRecord): Uint8Array {
    const last = this.#caller;
    if (last.keyId === keyId && last.clientIp === clientIp) return last.bytes;
    let text = this.#has.key_id && keyId !== undefined ? `,"key_id":${quoted(keyId)}` : '';
    if (this.#has.client_ip) text += `,"client_ip":${quoted(clientIp)}`;
    [last.keyId, last.clientIp, last.bytes] = [keyId, clientIp, ascii(text)];
    return last.bytes;
  }

  #errorFields(code: string, detail: string): string {
    let fields = '';
    if (this.#has.code) fields += `,"code":${quoted(code)}`;
    if (this.#has.detail && detail !== '') {
      fields += `,"detail":${quoted(maskCredentials(cut(detail, DETAIL_CHARS_MAX)))}`;
    }
    return fields;
  }

  #fieldsOf(labels: PlaceLabels): string {
    let fields = this.#routeFields.get(labels);
    if (fields === undefined) {
      fields = '';
      for (const name of ['app', 'version', 'revision', 'route'] as const) {
        const label = labels[name];
        if (this.#has[name] && label !== undefined) fields += `,"${name}":${quoted(label)}`;
      }
      this.#routeFields.set(labels, fields);
    }
    return fields;
  }
}

/** Failures that an operator should look at: a server error, or a response that was aborted because of one. */
function isFailure(status: number, errorCode: string | undefined): boolean {
  return status >= 500 || (errorCode !== undefined && status < 400);
}

/** A time with three decimals; NaN and negative times are 0. */
function addMilliseconds(lines: LineBytes, name: Uint8Array, ms: number): void {
  const micros = ms > 0 && ms < 1e12 ? Math.round(ms * 1000) : 0;
  const whole = Math.floor(micros / 1000);
  lines.piece(name);
  lines.number(whole);
  lines.byte(DOT);
  lines.threeDigits(micros - whole * 1000);
}

/** The rest of a field whose name is written, as in the next function. */
function addText(lines: LineBytes, text: string): void {
  if (!lines.textOf(text, SAFE_CODES)) lines.text(asciiJson(text).slice(1, -1));
  lines.byte(QUOTE);
}

function addPath(lines: LineBytes, path: string): void {
  if (path.length > PATH_CHARS_MAX || !lines.textOf(path, PLAIN_PATH_CODES))
    lines.text(asciiJson(maskCredentials(cut(path, PATH_CHARS_MAX))).slice(1, -1));
  lines.byte(QUOTE);
}

/** Characters that JSON must escape, and all non-ASCII characters. */
const UNSAFE = /[^\x20\x21\x23-\x5b\x5d-\x7e]/;
const SAFE_CODES = codesOf((character) => !UNSAFE.test(character));
/**
 * Safe characters, without the characters that every credential has at least one of: `hgk_…`, `Bearer …`,
 * `user:password@host`, `eyJ…`. Few paths have other characters.
 */
const PLAIN_PATH_CODES = codesOf((character) => !UNSAFE.test(character) && !'@J_ '.includes(character));

/** A JSON string in ASCII, so that a line has as many bytes as characters. */
function quoted(text: string): string {
  return UNSAFE.test(text) ? asciiJson(text) : `"${text}"`;
}

function asciiJson(value: string | readonly string[]): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function ascii(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}

function codesOf(has: (character: string) => boolean): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => Number(has(String.fromCharCode(code))));
}
