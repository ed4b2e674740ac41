/**
 * Sends one event to one address: one POST, bounded in time, to addresses that egress allows. Redirects are not
 * followed, and only the status of the answer counts. Owns the connections. Never throws: a failure is an outcome. The
 * client library is loaded with the first event: most gateways have no webhooks.
 */
import type { LookupFunction } from 'node:net';
import type { Agent, Dispatcher } from 'undici';
import { requestText } from '../../lib/error-message.ts';
import { retryWaitMs } from '../../http/fields/retry-after.ts';
import type { Egress } from '../../egress/egress.ts';
import { systemLookup } from '../../egress/name-queries.ts';
import type { Clock } from '../../lib/clock.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const HEAD_BYTES_MAX = 16_384;
/** The longest answer that is read; a longer one ends its connection. */
const ANSWER_BYTES_MAX = 16_384;
const KEEP_ALIVE_MS = 4_000;
const RETRY_AFTER_MS_MAX = 3_600_000;
const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };
/** Statuses after which the receiver may accept the same event later. */
const TEMPORARY_STATUSES: ReadonlySet<number> = new Set([408, 421, 425, 429]);
const GONE = 410;

type Answered = Dispatcher.ResponseData;

export interface Posted {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * `delivered`: 2xx. `refused`: the receiver rejects this event. `unavailable`: it may accept it later. `gone`:
 * it wants no more events. `aborted`: this gateway ended the request.
 */
export type SendResult = 'delivered' | 'refused' | 'unavailable' | 'gone' | 'aborted';

export interface SendOutcome {
  readonly result: SendResult;
  /** null when there was no answer. */
  readonly status: number | null;
  /** What went wrong, for people; '' when nothing did. */
  readonly error: string;
  /** When the receiver wants the next request; undefined when it does not say. */
  readonly retryAfterMs: number | undefined;
  readonly latencyMs: number;
}

export class WebhookHttp {
  readonly #egress: Egress;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #resolve: LookupFunction;
  /** By port, because egress rules apply to addresses with ports. */
  readonly #agents = new Map<number, Agent>();

  /** @param resolve for tests */
  constructor(egress: Egress, clock: Clock, timeoutMs: number, resolve: LookupFunction = systemLookup) {
    this.#egress = egress;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#resolve = resolve;
  }

  /**
   * Loads the client of the library before the first event needs it, because an upgrade of the package may have removed
   * the file by then.
   */
  load(): void {
    void import('undici').catch(() => undefined);
  }

  async send({ url, headers, body }: Posted, signal: AbortSignal): Promise<SendOutcome> {
    const startMs = this.#clock.monotonicMs();
    const outcome = await this.#post(url, headers, body, signal);
    return { ...outcome, latencyMs: Math.round(this.#clock.monotonicMs() - startMs) };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
    this.#agents.clear();
  }

  async #post(
    url: string,
    headers: Posted['headers'],
    body: string,
    signal: AbortSignal,
  ): Promise<Omit<SendOutcome, 'latencyMs'>> {
    const target = URL.parse(url);
    const port = target === null ? 0 : Number(target.port) || (PORTS[target.protocol] ?? 0);
    if (target === null || port === 0) return failed('its URL cannot be used');
    const denial = this.#egress.hostDenial(target.hostname, port);
    if (denial !== undefined) return failed(denial);
    try {
      const { Agent, request } = await import('undici');
      const answer = await request(target, {
        method: 'POST',
        dispatcher: this.#agentFor(port, Agent),
        signal: AbortSignal.any([signal, AbortSignal.timeout(this.#timeoutMs)]),
        headers: { 'content-type': 'application/json', 'user-agent': 'headgate', ...headers },
        body,
      });
      // Only the status counts; the rest of the answer is dropped.
      await answer.body.dump({ limit: ANSWER_BYTES_MAX }).catch(() => undefined);
      return this.#outcomeOf(answer.statusCode, answer.headers);
    } catch (error) {
      if (signal.aborted) return { ...failed('the gateway ended the request'), result: 'aborted' };
      return failed(requestText(error, this.#timeoutMs, 'NODE_EXTRA_CA_CERTS'));
    }
  }

  #outcomeOf(
    status: number,
    { 'retry-after': retryAfter, date }: Answered['headers'],
  ): Omit<SendOutcome, 'latencyMs'> {
    const none = { status, retryAfterMs: undefined };
    if (status >= 200 && status < 300) return { ...none, result: 'delivered', error: '' };
    const error = `it answered ${status}`;
    if (status === GONE) return { ...none, result: 'gone', error };
    if (status >= 300 && status < 400)
      return { ...none, result: 'refused', error: `${error}; redirects are not followed` };
    const isTemporary = status >= 500 || TEMPORARY_STATUSES.has(status);
    if (!isTemporary) return { ...none, result: 'refused', error };
    // Uses the clock of the receiver if the response contains its time, because the clock of this gateway may be wrong.
    const nowMs = Date.parse(String(date));
    const waitMs = waitOf(String(retryAfter), Number.isNaN(nowMs) ? this.#clock.nowMs() : nowMs);
    return { status, retryAfterMs: waitMs, result: 'unavailable', error };
  }

  #agentFor(port: number, AgentClass: typeof Agent): Agent {
    const known = this.#agents.get(port);
    if (known !== undefined) return known;
    const agent = new AgentClass({
      connect: { lookup: this.#egress.lookup(this.#resolve, port), timeout: CONNECT_TIMEOUT_MS },
      maxHeaderSize: HEAD_BYTES_MAX,
      headersTimeout: this.#timeoutMs,
      bodyTimeout: this.#timeoutMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
    });
    this.#agents.set(port, agent);
    return agent;
  }
}

const failed = (error: string): Omit<SendOutcome, 'latencyMs'> => ({
  result: 'unavailable',
  status: null,
  error,
  retryAfterMs: undefined,
});

/** The wait that Retry-After asks for, bounded; undefined for none. */
export function waitOf(retryAfter: string, nowMs: number): number | undefined {
  const waitMs = retryWaitMs(retryAfter, nowMs) ?? 0;
  return waitMs === 0 ? undefined : Math.min(waitMs, RETRY_AFTER_MS_MAX);
}
