/**
 * Settings of the events that the gateway records without a cause from outside: how long before an expiry it records
 * them, and when a key counts as unused.
 */
import { integer, list, type Parsed, type Setting } from '../settings-values.ts';

const DAYS_MAX = 3_650;

const daysBefore = (what: string, days: readonly number[]) =>
  list('whole numbers of days, comma-separated', dayCount, {
    default: days,
    description: `Days before the end of ${what} at which an event is recorded, once for each; \`0\`: never.`,
  });

export const NOTICE_SETTINGS = {
  GATEWAY_EVENTS__SUNSET_DAYS: daysBefore('a deprecated version (`sunset_at`)', [30, 7, 1]),
  GATEWAY_EVENTS__KEY_EXPIRY_DAYS: daysBefore('an API key (`expires_at`)', [14, 3, 1]),
  GATEWAY_EVENTS__CERTIFICATE_DAYS: daysBefore('a certificate', [14, 3, 1]),
  GATEWAY_EVENTS__KEY_UNUSED_DAYS: integer(
    { min: 0, max: DAYS_MAX },
    {
      default: 90,
      description: 'An event is recorded once for an API key that was not used for this many days; 0: never.',
    },
  ),
} as const satisfies Record<string, Setting<unknown>>;

function dayCount(value: string): Parsed<number> {
  return /^(?:0|[1-9]\d{0,3})$/.test(value) && Number(value) <= DAYS_MAX
    ? { value: Number(value) }
    : { expected: `whole numbers from 0 to ${DAYS_MAX} separated by commas, such as 14,3,1` };
}
