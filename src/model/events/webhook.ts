/**
 * A webhook: an address that gets events, in the form of Standard Webhooks
 * (https://github.com/standard-webhooks/standard-webhooks), and what is known of its deliveries.
 */
import type { GatewayEvent } from './events.ts';

export interface Webhook {
  readonly id: string;
  readonly name: string;
  /** Absolute, `http:` or `https:`. */
  readonly url: string;
  /** Types, or groups such as `breaker.*`; `*` is every type. */
  readonly events: readonly string[];
  /** Only events of these apps; empty: all events. */
  readonly app_ids: readonly string[];
  /** False: nothing is sent; events wait as long as they are kept. */
  readonly is_active: boolean;
  /** Why the gateway itself switched it off; null: it did not. */
  readonly disabled_reason: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/** With its secrets, `whsec_` and base64. A null that should not be one: the stored value does not open. */
export interface StoredWebhook extends Webhook {
  readonly secret: string | null;
  /** Of before a rotation; signs as well until its time. */
  readonly previous_secret: string | null;
  /** RFC 3339, UTC. */
  readonly previous_secret_expires_at: string | null;
}

/** An event that was given up, until it is sent again or removed. */
export interface DeadLetter {
  readonly event: GatewayEvent;
  /** How often it was sent. */
  readonly tries: number;
  readonly error: string;
  /** RFC 3339, UTC. */
  readonly failed_at: string;
  /** Whether it is to be sent again. */
  readonly is_wanted: boolean;
}

/** How far a webhook is. Times are Unix milliseconds. */
export interface DeliveryProgress {
  /** The id of the last event that is done: delivered, given up or not wanted. */
  readonly cursor: string;
  /** In a row, up to now. */
  readonly failures: number;
  /** Of the event that is next. */
  readonly tries: number;
  readonly next_try_ms: number;
  readonly last_error: string | null;
  readonly failed_at_ms: number | null;
  readonly delivered_at_ms: number | null;
  /** Since the webhook was made. */
  readonly delivered: number;
}
