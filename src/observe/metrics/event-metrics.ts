/** Metrics of events and webhooks. */
import type { Exposition } from './exposition.ts';

/** What this gateway did with events, and the state of all webhooks. */
export interface EventUse {
  /** Events that wait in memory for the database. */
  readonly waiting: number;
  readonly dropped: number;
  /** Requests to receivers by their result, and events that were given up. */
  readonly sent: ReadonlyMap<string, number>;
  /** undefined when the database does not answer. */
  readonly webhooks: WebhookUse | undefined;
}

/** Sums over all webhooks. */
interface WebhookUse {
  readonly ok: number;
  readonly failing: number;
  readonly disabled: number;
  readonly deadLetters: number;
}

export function addEvents(page: Exposition, { waiting, dropped, sent, webhooks }: EventUse): void {
  page.gauge('headgate_events_waiting', 'Events in memory that wait for the database', waiting);
  page.family('counter', 'headgate_events_dropped_total', 'Events that were not recorded', [
    { labels: {}, value: dropped },
  ]);
  const sends = [...sent].map(([result, value]) => ({ labels: { result }, value }));
  const help = 'Requests that this gateway sent to webhooks, by result, and events that it stopped sending';
  page.family('counter', 'headgate_webhook_sends_total', help, sends);
  if (webhooks === undefined) return;
  const states = (['ok', 'failing', 'disabled'] as const).map((state) => ({
    labels: { state },
    value: webhooks[state],
  }));
  page.family('gauge', 'headgate_webhooks', 'Webhooks, by the state of their deliveries', states);
  page.gauge(
    'headgate_webhook_dead_letters',
    'Events that could not be delivered to webhooks',
    webhooks.deadLetters,
  );
}
