/**
 * Sends exports to a collector by OTLP over HTTP. Repeats failed attempts when the specification says so, for a
 * bounded time. Owns the connections.
 */
import { Agent as HttpAgent, request as requestByHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestByHttps } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { retryWaitMs } from '../../http/fields/retry-after.ts';
import { systemClock } from '../../lib/clock.ts';
import { FastRandom } from '../../lib/fast-random.ts';
import { isRetryableError, isRetryableStatus, retryPauseMs } from './export-answers.ts';
import { isWebPage, problemOfError, problemOfStatus, shortProblem } from './export-problems.ts';
import { partialSuccess } from '../otlp/collector-answer.ts';
import { ExportAttempt, type AttemptOptions, type AttemptOutcome } from './export-attempt.ts';
import { CALM, type ExportBody, type SendPace } from './export-body.ts';
import type { ConnectionStart, ExportFailure, Signal } from './export-messages.ts';

/** Interval between two warnings of a collector that are passed on. */
const WARNING_GAP_MS = 3_600_000;
/** What the signals consist of, for messages. */
const ITEMS = { traces: 'spans', metrics: 'points of metrics', logs: 'log records' } as const;

export interface ExportOutcome {
  /** Items that the collector did not accept. */
  readonly failed: number;
  /** Why it did not accept them; '' when it accepted all. */
  readonly problem: string;
  /** How long the collector asks to send nothing, where that is longer than an export may take. */
  readonly waitMs?: number;
}

/** The result of an attempt. */
interface Judged extends ExportOutcome {
  /** Another attempt is worthwhile, after this many milliseconds if the collector has said so. */
  readonly retry?: { readonly afterMs: number | undefined };
}

export class Collector {
  readonly #signal: Signal;
  readonly #url: string;
  readonly #timeoutMs: number;
  #agent: HttpAgent | HttpsAgent;
  #how: Pick<AttemptOptions, 'request' | 'options' | 'isCompressed'>;
  /** Other files for the connection, from the next attempt on. */
  #renewed: ConnectionStart | undefined;
  readonly #random = new FastRandom();
  readonly #closed = new AbortController();
  readonly #onWarning: (warning: string) => void;
  #nextWarningMs = 0;
  #lastFailure: ExportFailure | undefined;

  /**
   * @param url the complete URL
   * @param onWarning receives what the collector has to say about an export that it accepts: at most once an hour
   */
  constructor(
    signal: Signal,
    url: string,
    connection: ConnectionStart,
    onWarning: (warning: string) => void = () => undefined,
  ) {
    this.#onWarning = onWarning;
    this.#signal = signal;
    this.#url = url;
    this.#timeoutMs = connection.timeoutMs;
    this.#agent = agentOf(url, connection);
    this.#how = howTo(url, connection, this.#agent);
  }

  /** The latest export that was not accepted in full. */
  get lastFailure(): ExportFailure | undefined {
    return this.#lastFailure;
  }

  /** Exports one body at a time. Never rejects. @param pace how fast the body is sent */
  async export(body: ExportBody, pace: () => SendPace = () => CALM): Promise<ExportOutcome> {
    const outcome = await this.#exportInTime(body, pace);
    const { problem } = outcome;
    if (problem !== '') this.#lastFailure = { atMs: systemClock.nowMs(), detail: problem };
    return outcome;
  }

  /** The next attempt uses this connection; one under way keeps its own. */
  renew(connection: ConnectionStart): void {
    this.#renewed = connection;
  }

  /** Cancels the attempt under way. */
  close(): void {
    this.#closed.abort();
    this.#agent.destroy();
  }

  async #exportInTime(body: ExportBody, pace: () => SendPace): Promise<ExportOutcome> {
    const deadlineMs = systemClock.monotonicMs() + this.#timeoutMs;
    for (let retry = 0; ; retry++) {
      const { failed, problem, ...judged } = this.#judge(await this.#attempt(body, pace, deadlineMs), body);
      if (judged.retry === undefined) return { failed, problem };
      const pauseMs = retryPauseMs(retry, this.#random.next());
      const leftMs = deadlineMs - systemClock.monotonicMs();
      const { afterMs } = judged.retry;
      const outcome = { failed, problem, ...(afterMs !== undefined && { waitMs: afterMs }) };
      if (pauseMs === undefined || leftMs <= 0) return outcome;
      const waitMs = afterMs ?? pauseMs;
      if (waitMs > leftMs || !(await this.#sleep(waitMs))) return outcome;
    }
  }

  async #attempt(body: ExportBody, pace: () => SendPace, deadlineMs: number): Promise<AttemptOutcome> {
    this.#useRenewed();
    let attempt: ExportAttempt;
    try {
      attempt = new ExportAttempt({ ...this.#how, body, pace });
    } catch (error) {
      return { error: error as Error };
    }
    const leftMs = Math.max(1, deadlineMs - systemClock.monotonicMs());
    const patience = setTimeout(
      () => attempt.cancel(`the collector takes longer than ${this.#timeoutMs} ms`),
      leftMs,
    );
    try {
      return await attempt.outcome;
    } finally {
      clearTimeout(patience);
    }
  }

  /** No attempt is under way, so no connection is cut off. */
  #useRenewed(): void {
    const connection = this.#renewed;
    if (connection === undefined) return;
    this.#renewed = undefined;
    this.#agent.destroy();
    this.#agent = agentOf(this.#url, connection);
    this.#how = howTo(this.#url, connection, this.#agent);
  }

  #judge(outcome: AttemptOutcome, { items }: ExportBody): Judged {
    if ('error' in outcome) {
      const { error } = outcome;
      const failed = { failed: items, problem: problemOfError(error) };
      return isRetryableError(error) ? { ...failed, retry: { afterMs: undefined } } : failed;
    }
    const { status, answer, fields } = outcome;
    if (status < 200 || status >= 300 || isWebPage(outcome)) {
      const asked = { signal: this.#signal, url: this.#url, isCompressed: this.#how.isCompressed };
      const problem = problemOfStatus(outcome, asked);
      if (!isRetryableStatus(status)) return { failed: items, problem };
      const afterMs = retryWaitMs(fields['retry-after'], systemClock.nowMs());
      const wait = afterMs === undefined ? '' : `: it asks to wait ${Math.ceil(afterMs / 1_000)} s`;
      return { failed: items, problem: shortProblem(problem + wait), retry: { afterMs } };
    }
    const { rejected, message } = partialSuccess(answer, fields['content-type']);
    if (rejected === 0) {
      this.#warn(message);
      return { failed: 0, problem: '' };
    }
    return {
      failed: Math.min(items, rejected),
      problem: shortProblem(`the collector refused some ${ITEMS[this.#signal]}: ${message}`),
    };
  }

  /** OTLP 1.x, "Partial Success": a message without rejected items is a warning. */
  #warn(message: string): void {
    const nowMs = systemClock.monotonicMs();
    if (message === '' || nowMs < this.#nextWarningMs) return;
    this.#nextWarningMs = nowMs + WARNING_GAP_MS;
    this.#onWarning(shortProblem(message));
  }

  /** Resolves with false when `close` ended the wait. */
  async #sleep(ms: number): Promise<boolean> {
    try {
      await sleep(ms, undefined, { signal: this.#closed.signal });
      return true;
    } catch {
      return false;
    }
  }
}

function agentOf(url: string, { ca, cert, key }: ConnectionStart): HttpAgent | HttpsAgent {
  if (!url.startsWith('https:')) return new HttpAgent({ keepAlive: true });
  const tls = { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert, key }) };
  return new HttpsAgent({ keepAlive: true, ...tls });
}

function howTo(
  url: string,
  { headers, compression }: ConnectionStart,
  agent: HttpAgent | HttpsAgent,
): Pick<AttemptOptions, 'request' | 'options' | 'isCompressed'> {
  return {
    request: agent instanceof HttpsAgent ? requestByHttps : requestByHttp,
    options: { ...urlToHttpOptions(new URL(url)), method: 'POST', agent, headers: fieldsOf(headers) },
    isCompressed: compression === 'gzip',
  };
}

function fieldsOf(headers: Readonly<Record<string, string>>): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) fields[name.toLowerCase()] = value;
  return { ...fields, 'content-type': 'application/x-protobuf', 'user-agent': 'Headgate' };
}
