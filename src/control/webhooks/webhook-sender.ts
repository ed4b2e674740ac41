/**
 * Sends events to webhooks: finds those with waiting events, takes their leases and runs a lane for each, so that a
 * slow or dead receiver delays no other. Checks when a gateway records an event, and once a second while there are
 * webhooks. Owns the lanes under way. Every gateway on a database does this; the lease of a killed gateway ends
 * within seconds.
 */
import { timestamp, type Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Egress } from '../../egress/egress.ts';
import type { GatewayEvent } from '../../model/events/events.ts';
import type { StoredWebhook } from '../../model/events/webhook.ts';
import type { Logger } from '../../observe/log.ts';
import type { WebhookSettings } from '../../settings/settings-types.ts';
import { DeliveryLeaseLost, type DueWebhook } from '../../storage/delivery-store.ts';
import type { Repository } from '../../storage/repository.ts';
import { StorageUnavailable } from '../../storage/storage-errors.ts';
import { LeaseHold } from './lease-hold.ts';
import { WebhookHttp, type SendOutcome, type SendResult } from './webhook-http.ts';
import { signedPost, unreadableOf, WebhookLane, type LaneDeps } from './webhook-lane.ts';

const LOOK_MS = 1_000;
/** Interval while there are no webhooks: connections to the database may close meanwhile. */
const QUIET_LOOK_MS = 60_000;
/**
 * A check that took long is followed by a rest of several times its length: with many webhooks, a check at every event
 * would take the database from the writes that cause the events.
 */
const LONG_LOOK_MS = 5;
const REST_FACTOR = 4;
/**
 * How often the progress of a webhook without events is stored: counting its waiting events reads all later
 * events.
 */
export const QUIET_SAVE_MS = 300_000;
const LEASE_MS = 6_000;
const RENEW_MS = 2_000;
/** How long a stop waits for requests under way. */
const STOP_MS = 2_000;

const SENT_RESULTS = ['delivered', 'refused', 'unavailable', 'gone', 'given_up'] as const;

export interface WebhookSenderDeps {
  readonly repository: Pick<Repository, 'events' | 'deliveries' | 'write' | 'onEvents'>;
  readonly egress: Egress;
  readonly settings: WebhookSettings;
  /** Names this process in leases. */
  readonly holder: string;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Quiet {
  readonly reached: string;
  /** Monotonic. */
  readonly sinceMs: number;
}

export class WebhookSender {
  readonly #deps: WebhookSenderDeps;
  readonly #http: WebhookHttp;
  readonly #lanes = new Map<string, Promise<void>>();
  readonly #sent = new Map<string, number>(SENT_RESULTS.map((result) => [result, 0]));
  /** By id and filter of a webhook: no event up to this id is for it. */
  #quiet = new Map<string, Quiet>();
  readonly #abort = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #looksAgain = false;
  /** By the monotonic clock. */
  #restsUntilMs = 0;
  #isStopping = false;
  #isFailing = false;

  constructor(deps: WebhookSenderDeps) {
    this.#deps = deps;
    this.#http = new WebhookHttp(deps.egress, deps.clock, deps.settings.timeoutMs);
  }

  /** Requests since the start by result; `given_up` also counts events. */
  get sent(): ReadonlyMap<string, number> {
    return this.#sent;
  }

  start(): void {
    this.#deps.repository.onEvents(() => this.look());
    this.look();
  }

  /** Checks now; after the check that is under way, or after the rest behind a long one. */
  look(): void {
    if (this.#isStopping) return;
    if (this.#looking !== undefined) {
      this.#looksAgain = true;
      return;
    }
    clearTimeout(this.#timer);
    const { clock } = this.#deps;
    const startMs = clock.monotonicMs();
    if (startMs < this.#restsUntilMs) {
      this.#timer = setTimeout(() => this.look(), this.#restsUntilMs - startMs);
      return;
    }
    this.#looking = this.#lookOnce().then((nextMs) => {
      const endMs = clock.monotonicMs();
      const tookMs = endMs - startMs;
      if (tookMs >= LONG_LOOK_MS) this.#restsUntilMs = endMs + Math.min(LOOK_MS, REST_FACTOR * tookMs);
      this.#looking = undefined;
      if (this.#isStopping) return;
      if (!this.#looksAgain) this.#timer = setTimeout(() => this.look(), nextMs);
      else {
        this.#looksAgain = false;
        this.look();
      }
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    const timer = setTimeout(() => this.#abort.abort(), STOP_MS);
    await this.#looking;
    await Promise.all(this.#lanes.values());
    clearTimeout(timer);
    await this.#http.close();
  }

  /** Sends a test event at once, independent of waiting events. @throws StorageUnavailable */
  async test(
    webhook: StoredWebhook,
  ): Promise<{ readonly event: GatewayEvent; readonly outcome: SendOutcome }> {
    const { repository, nodeName } = this.#deps;
    const nowMs = await repository.deliveries.nowMs();
    const event: GatewayEvent = {
      id: uuidv7(nowMs),
      type: 'webhook.test',
      at: timestamp(nowMs),
      node: nodeName,
      subject: { kind: 'webhook', id: webhook.id, name: webhook.name },
      data: { message: 'A test of this webhook' },
    };
    // Nothing is sent unsigned.
    const unreadable = unreadableOf(webhook);
    if (unreadable !== undefined) return { event, outcome: { ...UNSENT, error: unreadable } };
    const outcome = await this.#http.send(signedPost(webhook, event, nowMs), this.#abort.signal);
    return { event, outcome };
  }

  /** Resolves with the time until the next check; never rejects. */
  async #lookOnce(): Promise<number> {
    const { repository, log } = this.#deps;
    try {
      const { due, active } = await repository.deliveries.due();
      this.#quiet = new Map([...this.#quiet].filter(([key]) => due.some((one) => keyOf(one) === key)));
      for (const webhook of due) {
        if (this.#isStopping || this.#lanes.has(webhook.id)) continue;
        if (await this.#hasSomething(webhook)) this.#startLane(webhook);
      }
      this.#isFailing = false;
      if (active > 0) this.#http.load();
      return active === 0 ? QUIET_LOOK_MS : LOOK_MS;
    } catch (error) {
      // An outage of the database is logged elsewhere.
      const level = error instanceof StorageUnavailable || this.#isFailing ? 'debug' : 'warn';
      log[level]({ err: error }, 'cannot check which events are due for webhooks; trying again');
      // A failure of another kind after an outage is logged, too.
      if (level === 'warn') this.#isFailing = true;
      return LOOK_MS;
    }
  }

  /**
   * Whether there is something to send. Avoids the lease, for some minutes, while new events are not for the
   * webhook.
   */
  async #hasSomething(webhook: DueWebhook): Promise<boolean> {
    const nowMs = this.#deps.clock.monotonicMs();
    const sinceMs = this.#quiet.get(keyOf(webhook))?.sinceMs ?? nowMs;
    if (webhook.hasWanted || nowMs - sinceMs >= QUIET_SAVE_MS) return true;
    const found = await this.#deps.repository.events.after(this.#fromOf(webhook), 1, webhook.filter);
    if (found.events.length > 0) return true;
    this.#quiet.set(keyOf(webhook), { reached: found.reached, sinceMs });
    return false;
  }

  #fromOf(webhook: DueWebhook): string {
    const quiet = this.#quiet.get(keyOf(webhook))?.reached ?? '';
    return quiet > webhook.cursor ? quiet : webhook.cursor;
  }

  #startLane(webhook: DueWebhook): void {
    const lane = this.#runLane(webhook).then((isDone) => {
      this.#lanes.delete(webhook.id);
      // An error of the database would occur again at once: wait for the next regular check.
      if (isDone) this.look();
    });
    this.#lanes.set(webhook.id, lane);
  }

  /** @returns false when it was interrupted. Never rejects. */
  async #runLane(due: DueWebhook): Promise<boolean> {
    const { repository, holder, log } = this.#deps;
    const hold = new LeaseHold(this.#deps.clock, LEASE_MS);
    let isChanged = false;
    let renewal: NodeJS.Timeout | undefined;
    try {
      const asked = hold.ask();
      const delivery = await repository.deliveries.claim(due.id, holder, LEASE_MS);
      if (delivery === undefined) return true;
      hold.granted(asked);
      renewal = setInterval(() => {
        const askedAgain = hold.ask();
        repository.deliveries.renew(due.id, holder, LEASE_MS).then(
          (updatedAt) => {
            hold.granted(askedAgain);
            isChanged ||= updatedAt !== delivery.webhook.updated_at;
          },
          (error: unknown) => error instanceof DeliveryLeaseLost && hold.lost(),
        );
      }, RENEW_MS);
      const signal = AbortSignal.any([hold.signal, this.#abort.signal]);
      const from = keyOf(due) === keyOf(dueOf(due, delivery.webhook)) ? this.#fromOf(due) : due.cursor;
      // When the webhook is changed or switched off, its lane ends before the next request; another lane reads it
      // again.
      const isStopping = (): boolean => this.#isStopping || isChanged || hold.isOver;
      const lane = new WebhookLane(this.#laneDeps(), delivery, from, signal, isStopping);
      await lane.run(delivery.hasWanted);
      return true;
    } catch (error) {
      if (error instanceof DeliveryLeaseLost || error instanceof StorageUnavailable) {
        log.debug({ err: error, webhook: due.id }, 'sending for a webhook was interrupted');
      } else log.error({ err: error, webhook: due.id }, 'sending for a webhook failed');
      return false;
    } finally {
      clearInterval(renewal);
      hold.end();
    }
  }

  #laneDeps(): LaneDeps {
    const { repository, settings, holder, clock } = this.#deps;
    return {
      settings,
      events: () => repository.events,
      deliveries: () => repository.deliveries,
      http: this.#http,
      holder,
      clock,
      disable: (webhook, reason) => this.#disable(webhook, reason),
      onSent: (result) => this.#count(result),
      onWait: (ms) => this.#lookAfter(ms),
    };
  }

  /** A longer wait needs no timer, because a regular look ends it. */
  #lookAfter(ms: number): void {
    if (ms < LOOK_MS) setTimeout(() => this.look(), ms + 1);
  }

  #count(result: SendResult | 'given_up'): void {
    this.#sent.set(result, (this.#sent.get(result) ?? 0) + 1);
  }

  /** Switches a webhook off. In the audit log this is a write of the gateway itself. */
  async #disable({ id }: StoredWebhook, reason: string): Promise<void> {
    const { repository, clock, log } = this.#deps;
    const nowMs = clock.nowMs();
    const { value: name } = await repository.write<string | undefined>(async (writer) => {
      const webhook = await writer.findWebhook(id);
      if (webhook === undefined || !webhook.is_active) return { abort: undefined };
      const change = { is_active: false, disabled_reason: reason };
      await writer.updateWebhook({ ...webhook, ...change, updated_at: timestamp(nowMs) });
      await writer.appendAudit({
        id: uuidv7(nowMs),
        at: timestamp(nowMs),
        actor: 'system',
        action: 'webhook.update',
        resource_type: 'webhook',
        resource_id: id,
        resource_name: webhook.name,
        parents: {},
        address: null,
        request_id: null,
        change,
      });
      return { value: webhook.name, touched: { appIds: [], versionIds: [], keyIds: [] } };
    });
    if (name !== undefined) log.warn({ webhook: name, reason }, 'a webhook was switched off');
  }
}

const UNSENT: Omit<SendOutcome, 'error'> = {
  result: 'unavailable',
  status: null,
  retryAfterMs: undefined,
  latencyMs: 0,
};

const keyOf = ({ id, filter }: Pick<DueWebhook, 'id' | 'filter'>): string =>
  `${id} ${JSON.stringify(filter)}`;

const dueOf = (due: DueWebhook, { events, app_ids }: StoredWebhook): DueWebhook => ({
  ...due,
  filter: { types: events, app_ids },
});
