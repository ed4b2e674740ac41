/** Settings of events and webhooks. */
import { integer, type Setting } from '../settings-values.ts';

export const EVENT_SETTINGS = {
  GATEWAY_EVENTS__MAX_EVENTS: integer(
    { min: 100, max: 10_000_000 },
    {
      default: 100_000,
      description:
        'Maximum number of events that are kept. Beyond it, the oldest events of the most frequent types are removed first; events that were not yet sent to a webhook become its dead letters.',
    },
  ),
  GATEWAY_EVENTS__MAX_DAYS: integer(
    { min: 1, max: 3_650 },
    { default: 30, description: 'Maximum age in days of the events that are kept.' },
  ),
  GATEWAY_WEBHOOKS__TIMEOUT_MS: integer(
    { min: 100, max: 60_000 },
    { default: 10_000, description: 'How long a receiver may take to answer.' },
  ),
  GATEWAY_WEBHOOKS__MAX_TRIES: integer(
    { min: 1, max: 1_000 },
    {
      default: 20,
      description:
        'How often an event is sent to a receiver that fails, before the event becomes a dead letter. An event that a receiver refuses (a status of 3xx or 4xx, except 408, 421, 425 and 429) is sent 5 times at most.',
    },
  ),
  GATEWAY_WEBHOOKS__RETRY_MIN_MS: integer(
    { min: 10, max: 600_000 },
    {
      default: 1_000,
      description:
        'Wait after the first failure of a receiver; it doubles with each failure in a row. Each wait is shortened at random by up to half.',
    },
  ),
  GATEWAY_WEBHOOKS__RETRY_MAX_MS: integer(
    { min: 10, max: 86_400_000 },
    { default: 600_000, description: 'Longest wait after a failure of a receiver.' },
  ),
} as const satisfies Record<string, Setting<unknown>>;
