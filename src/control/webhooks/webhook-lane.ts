/**
 * Sends the waiting events of one webhook, in order, as the holder of its lease: first dead letters to send again,
 * then the events after the last delivered one. Ends when nothing is left or the receiver fails; the time of the
 * next try is stored with the webhook. Progress is stored several times a second, so after a gateway was killed some
 * events are sent again, with the same ids.
 */
import { timestamp, type Clock } from '../../lib/clock.ts';
import { randomFraction } from '../../lib/ids.ts';
import type { GatewayEvent } from '../../model/events/events.ts';
import { webhookSignature } from '../../model/events/webhook-secret.ts';
import { isMaskedUrl } from '../../model/events/webhook-url.ts';
import type { DeadLetter, DeliveryProgress, StoredWebhook } from '../../model/events/webhook.ts';
import type { Delivery, DeliveryStep, DeliveryStore } from '../../storage/delivery-store.ts';
import type { EventStore } from '../../storage/event-store.ts';
import type { SendOutcome, SendResult, WebhookHttp } from './webhook-http.ts';

/** Limit of events of one webhook in memory. */
const PAGE_EVENTS = 50;
const SAVE_MS = 250;
/**
 * Maximum number of attempts for a refused event. It then becomes a dead letter, so that the next event can be sent.
 */
const REFUSED_TRIES_MAX = 5;
const DOUBLINGS_MAX = 30;

interface LaneSettings {
  /** Maximum number of attempts for an event while the receiver fails. */
  readonly maxTries: number;
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
}

export interface LaneDeps {
  readonly settings: LaneSettings;
  readonly events: () => EventStore;
  readonly deliveries: () => DeliveryStore;
  readonly http: Pick<WebhookHttp, 'send'>;
  readonly holder: string;
  readonly clock: Clock;
  /** Switches off a webhook whose receiver wants no more events. */
  readonly disable: (webhook: StoredWebhook, reason: string) => Promise<void>;
  readonly onSent: (result: SendResult | 'given_up') => void;
  /** The lane ends, and something must be sent after this time. */
  readonly onWait: (ms: number) => void;
}

type Progress = Pick<DeliveryProgress, 'cursor' | 'failures' | 'tries'>;

export class WebhookLane {
  readonly #deps: LaneDeps;
  readonly #webhook: StoredWebhook;
  readonly #signal: AbortSignal;
  readonly #isStopping: () => boolean;
  #progress: Progress;
  /** Deliveries since the last save. */
  #delivered = 0;
  #arrived: string[] = [];
  #savedMs: number;
  /**
   * When the monotonic clock was 0, by the clock of the database: receivers refuse requests whose time differs
   * from their own clock, and the sending gateway's clock may be wrong.
   */
  readonly #epochMs: number;

  /**
   * @param from events up to this id are not for the webhook
   * @param signal ends the request under way and the lane
   * @param isStopping whether no further request may begin
   */
  constructor(
    deps: LaneDeps,
    { webhook, progress, nowMs }: Delivery,
    from: string,
    signal: AbortSignal,
    isStopping: () => boolean,
  ) {
    this.#deps = deps;
    this.#webhook = webhook;
    this.#signal = signal;
    this.#isStopping = isStopping;
    const { cursor, failures, tries } = progress;
    this.#progress = { cursor: from > cursor ? from : cursor, failures, tries };
    this.#savedMs = deps.clock.monotonicMs();
    this.#epochMs = nowMs - this.#savedMs;
  }

  /** @throws DeliveryLeaseLost, StorageUnavailable */
  async run(hasWanted: boolean): Promise<void> {
    const unreadable = unreadableOf(this.#webhook);
    if (unreadable !== undefined) return this.#failWithoutEvent(unreadable);
    if (hasWanted && !(await this.#sendWanted())) return;
    const filter = { types: this.#webhook.events, app_ids: this.#webhook.app_ids };
    for (;;) {
      const page = await this.#deps.events().after(this.#progress.cursor, PAGE_EVENTS, filter);
      if (page.events.length === 0) {
        this.#progress = { ...this.#progress, cursor: page.reached };
        return this.#save({ release: true });
      }
      for (const event of page.events) if (!(await this.#deliver(event))) return;
    }
  }

  /** @returns false when the lane has ended and the lease was returned */
  async #deliver(event: GatewayEvent): Promise<boolean> {
    const outcome = await this.#send(event);
    if (outcome === undefined) return false;
    if (outcome.result === 'delivered') {
      this.#progress = { cursor: event.id, failures: 0, tries: 0 };
      this.#delivered += 1;
      await this.#saveSometimes();
      return true;
    }
    if (outcome.result === 'gone') return this.#gone(outcome);
    const tries = this.#progress.tries + 1;
    const failures = this.#progress.failures + 1;
    const isRefused = outcome.result === 'refused';
    const { maxTries } = this.#deps.settings;
    const isGivenUp = tries >= (isRefused ? Math.min(REFUSED_TRIES_MAX, maxTries) : maxTries);
    const { cursor } = this.#progress;
    this.#progress = isGivenUp ? { cursor: event.id, failures, tries: 0 } : { cursor, failures, tries };
    if (isGivenUp) this.#deps.onSent('given_up');
    await this.#fail(outcome, {
      ...(isGivenUp && { givenUp: this.#letter(event, tries, outcome.error) }),
      // This event was the cause, so the next event does not have to wait.
      ...(isGivenUp && isRefused && { waitMs: 0 }),
    });
    return false;
  }

  /** @returns false when the lane has ended and the lease was returned */
  async #sendWanted(): Promise<boolean> {
    for (;;) {
      const letters = await this.#deps.deliveries().wanted(this.#webhook.id, PAGE_EVENTS);
      for (const { event, tries } of letters) {
        const outcome = await this.#send(event);
        if (outcome === undefined) return false;
        if (outcome.result === 'gone') return this.#gone(outcome);
        if (outcome.result === 'delivered') {
          this.#arrived.push(event.id);
          this.#delivered += 1;
          this.#progress = { ...this.#progress, failures: 0 };
          await this.#saveSometimes();
        } else if (outcome.result === 'refused') {
          await this.#save({ givenUp: this.#letter(event, tries + 1, outcome.error) });
        } else {
          this.#progress = { ...this.#progress, failures: this.#progress.failures + 1 };
          await this.#fail(outcome, {});
          return false;
        }
      }
      await this.#save({});
      if (letters.length < PAGE_EVENTS) return true;
    }
  }

  /** undefined when the lane has ended and the lease was returned. */
  async #send(event: GatewayEvent): Promise<SendOutcome | undefined> {
    const { http, onSent } = this.#deps;
    if (!this.#isStopping() && !this.#signal.aborted) {
      const outcome = await http.send(signedPost(this.#webhook, event, this.#nowMs()), this.#signal);
      if (outcome.result !== 'aborted') {
        onSent(outcome.result);
        return outcome;
      }
    }
    await this.#save({ release: true });
    return undefined;
  }

  async #gone({ error }: SendOutcome): Promise<false> {
    await this.#deps.disable(this.#webhook, `${error}: the receiver asks for no more events`);
    this.#progress = { ...this.#progress, failures: this.#progress.failures + 1 };
    await this.#save({ release: true }, this.#problem(error));
    return false;
  }

  async #failWithoutEvent(error: string): Promise<void> {
    this.#progress = { ...this.#progress, failures: this.#progress.failures + 1 };
    await this.#save({ release: true, waitMs: this.#backoffMs() }, this.#problem(error));
  }

  async #fail({ error, retryAfterMs = 0 }: SendOutcome, step: Partial<DeliveryStep>): Promise<void> {
    const waitMs = Math.max(this.#backoffMs(), retryAfterMs);
    await this.#save({ waitMs, ...step, release: true }, this.#problem(error));
  }

  #problem(error: string) {
    return { last_error: error, failed_at_ms: this.#nowMs() };
  }

  #letter(event: GatewayEvent, tries: number, error: string): Omit<DeadLetter, 'is_wanted'> {
    return { event, tries, error, failed_at: timestamp(this.#nowMs()) };
  }

  /** By the clock of the database. */
  #nowMs(): number {
    return Math.round(this.#epochMs + this.#deps.clock.monotonicMs());
  }

  /**
   * Doubles with each failure in a row; up to half of it is random, so that receivers do not get all retries at
   * once.
   */
  #backoffMs(): number {
    const { retryMinMs, retryMaxMs } = this.#deps.settings;
    const wholeMs = retryMinMs * 2 ** Math.min(this.#progress.failures - 1, DOUBLINGS_MAX);
    return Math.round(Math.min(wholeMs, retryMaxMs) * (1 - randomFraction() / 2));
  }

  async #saveSometimes(): Promise<void> {
    if (this.#deps.clock.monotonicMs() - this.#savedMs >= SAVE_MS) await this.#save({});
  }

  async #save(
    step: Omit<DeliveryStep, 'progress' | 'delivered' | 'arrived'>,
    problem: Partial<DeliveryProgress> = {},
  ): Promise<void> {
    const { deliveries, holder, clock } = this.#deps;
    const isWell = this.#progress.failures === 0;
    await deliveries().save(this.#webhook.id, holder, {
      ...step,
      progress: { ...this.#progress, ...(isWell && { last_error: null }), ...problem },
      delivered: this.#delivered,
      arrived: this.#arrived,
    });
    this.#delivered = 0;
    this.#arrived = [];
    this.#savedMs = clock.monotonicMs();
    if (step.waitMs !== undefined) this.#deps.onWait(step.waitMs);
  }
}

const WHY = 'cannot be read: it was encrypted with another key, or is damaged';
const UNREADABLE_SECRET = `its secret ${WHY}; rotate it`;
const UNREADABLE_URL = `its URL ${WHY}; set it again`;

/** Why nothing can be sent. */
export function unreadableOf({ secret, url }: StoredWebhook): string | undefined {
  if (isMaskedUrl(url)) return UNREADABLE_URL;
  return secret === null ? UNREADABLE_SECRET : undefined;
}

/** The request of Standard Webhooks: signed with the current secret, and the previous one while it is valid. */
export function signedPost(
  webhook: StoredWebhook,
  event: GatewayEvent,
  nowMs: number,
): { readonly url: string; readonly headers: Record<string, string>; readonly body: string } {
  const { url, secret, previous_secret: previous, previous_secret_expires_at: until } = webhook;
  const isPreviousValid = previous !== null && until !== null && Date.parse(until) > nowMs;
  const secrets = [secret, isPreviousValid ? previous : null].filter((found) => found !== null);
  const timestampSecs = Math.floor(nowMs / 1000);
  const body = JSON.stringify(event);
  const headers = {
    'webhook-id': event.id,
    'webhook-timestamp': String(timestampSecs),
    'webhook-signature': webhookSignature(secrets, { id: event.id, timestampSecs, body }),
  };
  return { url, headers, body };
}
