/**
 * A webhook: an address that receives events in the format of Standard Webhooks
 * (https://github.com/standard-webhooks/standard-webhooks), and the state of its deliveries.
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
  /** False: nothing is sent, and events wait as long as they are kept. */
  readonly is_active: boolean;
  /** Why the gateway itself switched the webhook off; null when it did not. */
  readonly disabled_reason: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/**
 * A webhook with its secrets, `whsec_` and base64. A null in place of a required secret means that the stored
 * value cannot be decrypted.
 */
export interface StoredWebhook extends Webhook {
  readonly secret: string | null;
  /** The secret before a rotation; it also signs until its end. */
  readonly previous_secret: string | null;
  /** RFC 3339, UTC. */
  readonly previous_secret_expires_at: string | null;
}

/** An event whose delivery was given up, until it is sent again or removed. */
export interface DeadLetter {
  readonly event: GatewayEvent;
  /** The number of attempts. */
  readonly tries: number;
  readonly error: string;
  /** RFC 3339, UTC. */
  readonly failed_at: string;
  /** Whether a user has asked to send it again. */
  readonly is_wanted: boolean;
}

/** The progress of the deliveries of a webhook. Times are Unix milliseconds. */
export interface DeliveryProgress {
  /** The id of the last event that is finished: delivered, given up, or not subscribed to. */
  readonly cursor: string;
  /** Failures in a row up to now. */
  readonly failures: number;
  /** Attempts at the next event. */
  readonly tries: number;
  readonly next_try_ms: number;
  readonly last_error: string | null;
  readonly failed_at_ms: number | null;
  readonly delivered_at_ms: number | null;
  /** Delivered events since the webhook was created. */
  readonly delivered: number;
}
