/** Settings of the browser console: how long a sign-in lasts. */
import { integer, type Setting } from '../settings-values.ts';

const secs = { min: 1, max: 2_592_000 };

export const CONSOLE_SETTINGS = {
  GATEWAY_CONSOLE__SESSION_IDLE_SECS: integer(secs, {
    default: 3_600,
    description: 'A browser that sends no request for this long is signed out; seconds.',
  }),
  GATEWAY_CONSOLE__SESSION_MAX_SECS: integer(secs, {
    default: 43_200,
    description:
      'A browser is signed out this long after its sign-in, whatever it does, and no later than its admin token expires; seconds.',
  }),
} as const satisfies Record<string, Setting<unknown>>;
