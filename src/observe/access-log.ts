/**
 * One line for every exchange: the same JSON lines as the logger's, built by hand, since this runs for every
 * request. Lines are collected and handed to the output together, every 64 KiB or 100 ms. Owns the buffer
 * and a timer; the output bounds what a slow reader may hold up and counts what had to be dropped.
 *
 * By construction a line has no query, no header value and no credential: there is no field for one.
 */
import { timestamp } from '../kernel/clock.ts';
import { textLine, type LogFormat } from './log.ts';
import type { LogOutput } from './output.ts';

const FLUSH_CHARACTERS = 65_536;
const FLUSH_MS = 100;

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
  readonly method: string;
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
  /** Parts of the policy in shadow mode that would have denied. */
  readonly wouldDeny: readonly string[] | undefined;
  /** Attempts at the backend beyond the first; named only when there were some. */
  readonly retries: number;
}

export class AccessLog {
  readonly #output: LogOutput;
  readonly #format: LogFormat;
  readonly #routeFields = new WeakMap<RouteLabels, string>();
  #buffer = '';
  #timer: NodeJS.Timeout | undefined;
  #second = -1;
  #secondText = '';

  constructor(output: LogOutput, format: LogFormat) {
    this.#output = output;
    this.#format = format;
  }

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

  #line(r: AccessRecord): string {
    const labels = r.labels === undefined ? '' : this.#fieldsOf(r.labels);
    const upstream = r.upstreamMs === undefined ? '' : `,"upstream_ms":${milliseconds(r.upstreamMs)}`;
    const key = r.keyId === undefined ? '' : `,"key_id":${quoted(r.keyId)}`;
    const code = r.errorCode === undefined ? '' : `,"code":${quoted(r.errorCode)}`;
    const would = r.wouldDeny === undefined ? '' : `,"would_deny":${JSON.stringify(r.wouldDeny)}`;
    const retries = r.retries === 0 ? '' : `,"retries":${r.retries}`;
    return (
      `{"level":"info","time":"${this.#time(r.timeMs)}","request_id":${quoted(r.requestId)}${labels}` +
      `,"method":${quoted(r.method)},"protocol":"${r.protocol}","status":${r.status},"bytes_in":${r.bytesIn},"bytes_out":${r.bytesOut}` +
      `,"duration_ms":${milliseconds(r.durationMs)}${upstream}${retries}${key},"client_ip":${quoted(r.clientIp)}${code}${would}` +
      ',"msg":"access"}\n'
    );
  }

  #fieldsOf(labels: RouteLabels): string {
    let fields = this.#routeFields.get(labels);
    if (fields === undefined) {
      fields =
        `,"app":${quoted(labels.app)},"version":${quoted(labels.version)}` +
        `,"revision":${quoted(labels.revision)},"route":${quoted(labels.route)}`;
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

function quoted(text: string): string {
  return UNSAFE.test(text) ? JSON.stringify(text) : `"${text}"`;
}
