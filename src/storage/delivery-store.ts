/**
 * The boundary between the sender of webhooks and the database. Each webhook has a lease: only the gateway that holds
 * it sends, and each of its writes checks it in its own transaction, so a gateway that was delayed cannot interfere
 * with its successor. Times are Unix milliseconds by the clock of the database.
 */
import type { EventFilter } from './event-store.ts';
import type { DeadLetter, DeliveryProgress, StoredWebhook, Webhook } from '../model/events/webhook.ts';

/**
 * There are events that the webhook has not processed yet, whether it is subscribed to them or not, or dead letters to
 * send again.
 */
export interface DueWebhook {
  readonly id: string;
  readonly cursor: string;
  readonly filter: EventFilter;
  readonly hasWanted: boolean;
}

export interface DueWebhooks {
  readonly due: readonly DueWebhook[];
  /** Webhooks that are not switched off. */
  readonly active: number;
}

/** The work of the holder of a lease. */
export interface Delivery {
  readonly webhook: StoredWebhook;
  readonly progress: DeliveryProgress;
  /** Whether some dead letters must be sent again. */
  readonly hasWanted: boolean;
  /** When the lease was taken. */
  readonly nowMs: number;
}

/** A webhook and its state, for lists. */
export interface DeliveryState {
  readonly webhook: Webhook;
  readonly progress: DeliveryProgress;
  /** Events that wait to be sent, at most `WAITING_COUNTED_MAX`. */
  readonly waiting: number;
  readonly deadLetters: number;
  /** The name of the gateway that sends at this moment; null when none does. */
  readonly sender: string | null;
}

/** Numbers of webhooks by their states, and of dead letters. */
export interface DeliverySummary {
  readonly ok: number;
  readonly failing: number;
  readonly disabled: number;
  readonly deadLetters: number;
}

/** Names a process in leases: the name of its gateway, and a part that distinguishes processes of that name. */
export function leaseHolder(nodeName: string, process: string): string {
  return `${nodeName} ${process}`;
}

export function senderOf(holder: string): string {
  return holder.slice(0, holder.lastIndexOf(' '));
}

export const WAITING_COUNTED_MAX = 10_000;
/** Limit for one webhook; beyond it the oldest are removed. */
export const DEAD_LETTERS_MAX = 10_000;

/** Another gateway sends for this webhook now, or the webhook was deleted; the write of the caller was not made. */
export class DeliveryLeaseLost extends Error {
  constructor() {
    super('another gateway sends for this webhook now');
    this.name = 'DeliveryLeaseLost';
  }
}

/** What the holder of a lease stores at once. */
export interface DeliveryStep {
  readonly progress: Partial<Omit<DeliveryProgress, 'next_try_ms' | 'delivered' | 'delivered_at_ms'>>;
  /** Deliveries to add to the count. */
  readonly delivered?: number;
  /** Milliseconds from now until the next attempt. */
  readonly waitMs?: number;
  /** The event becomes a dead letter, or stays one. */
  readonly givenUp?: Omit<DeadLetter, 'is_wanted'>;
  /** Dead letters that have arrived. */
  readonly arrived?: readonly string[];
  /** Gives the lease back. */
  readonly release?: true;
}

/** All operations throw StorageUnavailable if the database does not answer. */
export interface DeliveryStore {
  nowMs(): Promise<number>;
  /** Webhooks that may have something to send now, and for which no gateway sends. */
  due(): Promise<DueWebhooks>;
  /** Takes the lease; undefined: another gateway has it, or the webhook was deleted or is switched off. */
  claim(webhookId: string, holder: string, ttlMs: number): Promise<Delivery | undefined>;
  /**
   * @returns `updated_at` of the webhook: if it differs from that of the delivery, the webhook was changed
   * @throws DeliveryLeaseLost
   */
  renew(webhookId: string, holder: string, ttlMs: number): Promise<string>;
  /** @throws DeliveryLeaseLost */
  save(webhookId: string, holder: string, step: DeliveryStep): Promise<void>;
  /** Dead letters to send again, in the order of their events. */
  wanted(webhookId: string, limit: number): Promise<readonly DeadLetter[]>;
  states(): Promise<readonly DeliveryState[]>;
  /** Sums over all webhooks. */
  summary(): Promise<DeliverySummary>;
}
