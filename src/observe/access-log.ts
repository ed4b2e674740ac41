/**
 * One line per exchange: the same JSON lines as the logger's, built by hand because this runs for every request. Text
 * that a line shares with the previous one (second, route, host, key, address) is cached. Lines are collected and
 * passed to the output together, after at most 100 ms. Owns the collected text and a timer; the output is bounded and
 * counts dropped lines.
 *
 * By construction a line has no query, no header value except Host, and no credential: no field can contain one. Client
 * data is escaped to ASCII and truncated, and anything in a path that looks like a credential is masked.
 */
import { timestamp } from '../lib/clock.ts';
import { ACCESS_FIELDS, type AccessField, type AccessMode } from '../model/access-fields.ts';
import { maskCredentials, textLine, type LogFormat, type LogLevel } from './log.ts';
import type { LogOutput } from './output.ts';

/** Small enough to be in the processor's cache when it is copied to the output. */
const BATCH_CHARACTERS = 8_192;
const FLUSH_MS = 100;
/** Longer texts are truncated and end in `...`. */
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
  /** '' if the request could not be read this far. */
  readonly method: string;
  /** Host and port of the request; '' without them. */
  readonly host: string;
  /** Path without the query; canonical unless it was refused. '' if the request could not be read this far. */
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
  /** Details of the error; '' without any. */
  readonly errorDetail: string;
  /** The client or the gateway aborted the exchange before the response was complete. */
  readonly isAborted: boolean;
  /** Parts of the policy in shadow mode that would have denied. */
  readonly shadowDenials: readonly string[] | undefined;
  /** Absent while traces are not exported. */
  readonly traceId?: string | undefined;
  /** To the backend, if it is not HTTP/1.1. */
  readonly upstreamProtocol?: string | undefined;
  /** Of the latest attempt, where the revision has several; absent: it has one. */
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
const END = ',"msg":"access"}\n';

/** Cached text of the last line, with the values it was built from. */
interface LastPlace {
  labels: PlaceLabels | undefined;
  method: string;
  host: string;
  text: string;
}

interface LastOutcome {
  protocol: string;
  status: number;
  text: string;
}

interface LastCaller {
  keyId: string | undefined;
  clientIp: string;
  text: string;
}

export class AccessLog {
  readonly #output: LogOutput;
  readonly #format: LogFormat;
  readonly #errorsOnly: boolean;
  readonly #warningsOnly: boolean;
  readonly #has: Readonly<Record<AccessField, boolean>>;
  readonly #routeFields = new WeakMap<PlaceLabels, string>();
  #batch = '';
  #timer: NodeJS.Timeout | undefined;
  #second = -1;
  #secondText = '';
  #timeMs = -1;
  #timeText = '';
  readonly #place: LastPlace = { labels: undefined, method: '', host: '', text: '' };
  readonly #outcome: LastOutcome = { protocol: '', status: -1, text: '' };
  readonly #caller: LastCaller = { keyId: undefined, clientIp: '', text: '' };

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
    const line = this.#line(record);
    this.#batch += this.#format === 'text' ? textLine(line) : line;
    if (this.#batch.length >= BATCH_CHARACTERS) this.#handOver();
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref();
  }

  /** Writes all lines before it returns; for the end of the thread. */
  flushSync(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#batch;
    this.#batch = '';
    this.#output.flushSync(lines);
  }

  /** Passes all lines to the output. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#handOver();
    this.#output.push();
  }

  #handOver(): void {
    if (this.#batch === '') return;
    // The text format may contain non-ASCII characters.
    if (this.#format === 'text') this.#output.write(this.#batch);
    else this.#output.append(this.#batch);
    this.#batch = '';
  }

  /** Fields always have the order of ACCESS_FIELDS, so that selecting them costs one check each. */
  #line(r: AccessRecord): string {
    const has = this.#has;
    let line = isFailure(r.status, r.errorCode) ? WARN_START : INFO_START;
    line += this.#time(r.timeMs);
    if (has.request_id) line += `,"request_id":${quoted(r.requestId)}`;
    if (r.traceId !== undefined && has.trace_id) line += `,"trace_id":"${r.traceId}"`;
    line += this.#placeFields(r);
    if (has.path && r.path !== '') line += `,"path":${quotedPath(r.path)}`;
    line += this.#outcomeFields(r);
    if (has.bytes_in) line += `,"bytes_in":${r.bytesIn}`;
    if (has.bytes_out) line += `,"bytes_out":${r.bytesOut}`;
    if (has.duration_ms) line += `,"duration_ms":${milliseconds(r.durationMs)}`;
    if (has.upstream_ms && r.upstreamMs !== undefined) line += `,"upstream_ms":${milliseconds(r.upstreamMs)}`;
    if (r.upstreamProtocol !== undefined && has.upstream_protocol)
      line += `,"upstream_protocol":"${r.upstreamProtocol}"`;
    if (r.target !== undefined && has.target) line += `,"target":${quoted(r.target)}`;
    if (has.retries && r.retries !== 0) line += `,"retries":${r.retries}`;
    line += this.#callerFields(r);
    if (r.errorCode !== undefined) line += this.#errorFields(r.errorCode, r.errorDetail);
    if (has.aborted && r.isAborted) line += ',"aborted":true';
    if (has.would_deny && r.shadowDenials !== undefined)
      line += `,"would_deny":${JSON.stringify(r.shadowDenials)}`;
    return line + END;
  }

  /** Route, method and host. */
  #placeFields({ labels, method, host }: AccessRecord): string {
    const last = this.#place;
    if (last.labels === labels && last.method === method && last.host === host) return last.text;
    const has = this.#has;
    let text = labels === undefined ? '' : this.#fieldsOf(labels);
    if (has.method && method !== '') text += `,"method":${quoted(method)}`;
    if (has.host && host !== '') text += `,"host":${quoted(cut(host, HOST_CHARS_MAX))}`;
    [last.labels, last.method, last.host, last.text] = [labels, method, host, text];
    return text;
  }

  #outcomeFields({ protocol, status }: AccessRecord): string {
    const last = this.#outcome;
    if (last.status === status && last.protocol === protocol) return last.text;
    let text = this.#has.protocol ? `,"protocol":"${protocol}"` : '';
    if (this.#has.status) text += `,"status":${status}`;
    [last.status, last.protocol, last.text] = [status, protocol, text];
    return text;
  }

  #callerFields({ keyId, clientIp }: AccessRecord): string {
    const last = this.#caller;
    if (last.keyId === keyId && last.clientIp === clientIp) return last.text;
    let text = this.#has.key_id && keyId !== undefined ? `,"key_id":${quoted(keyId)}` : '';
    if (this.#has.client_ip) text += `,"client_ip":${quoted(clientIp)}`;
    [last.keyId, last.clientIp, last.text] = [keyId, clientIp, text];
    return text;
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

  /** RFC 3339 in UTC with the closing quotation mark; everything but the milliseconds is built once a second. */
  #time(timeMs: number): string {
    const ms = Math.floor(timeMs);
    if (ms === this.#timeMs) return this.#timeText;
    const second = Math.floor(ms / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#secondText = timestamp(second * 1000).slice(0, -4);
    }
    this.#timeMs = ms;
    this.#timeText = `${this.#secondText}${threeDigits(ms - second * 1000)}Z"`;
    return this.#timeText;
  }
}

/** Failures that an operator should look at: a server error, or a response that was aborted because of one. */
function isFailure(status: number, errorCode: string | undefined): boolean {
  return status >= 500 || (errorCode !== undefined && status < 400);
}

/**
 * With three decimals, from whole microseconds: printing a fractional number takes several times as long. NaN and
 * negative times are 0.
 */
function milliseconds(ms: number): string {
  const micros = ms > 0 && ms < 1e12 ? Math.round(ms * 1000) : 0;
  const whole = Math.floor(micros / 1000);
  return `${whole}.${threeDigits(micros - whole * 1000)}`;
}

const THREE_DIGITS = Array.from({ length: 1000 }, (_, number) => String(number).padStart(3, '0'));

/** @param number an integer from 0 to 999 */
function threeDigits(number: number): string {
  return THREE_DIGITS[number] ?? '000';
}

/** Characters that JSON must escape, and all non-ASCII characters. */
const UNSAFE = /[^\x20\x21\x23-\x5b\x5d-\x7e]/;

/** A JSON string in ASCII, so that a line has as many bytes as characters. */
function quoted(text: string): string {
  return UNSAFE.test(text) ? asciiJson(text) : `"${text}"`;
}

function asciiJson(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Characters that are unsafe, and beginnings of the credentials that `maskCredentials` detects: few paths have any. */
const NOTABLE = /[^\x20\x21\x23-\x3f\x41-\x5b\x5d\x5e\x60-\x7e]|eyJ/;

function quotedPath(path: string): string {
  const short = cut(path, PATH_CHARS_MAX);
  return NOTABLE.test(short) ? quoted(maskCredentials(short)) : `"${short}"`;
}

function cut(text: string, charsMax: number): string {
  return text.length > charsMax ? `${text.slice(0, charsMax - 3)}...` : text;
}
