/** Settings of the browser console: how long a sign-in lasts. */
import { integer, type Setting } from '../settings-values.ts';

const secs = { min: 1, max: 2_592_000 };

export const CONSOLE_SETTINGS = {
  GATEWAY_CONSOLE__SESSION_IDLE_SECS: integer(secs, {
    default: 3_600,
    description: 'Seconds without a request after which a browser is signed out.',
  }),
  GATEWAY_CONSOLE__SESSION_MAX_SECS: integer(secs, {
    default: 43_200,
    description:
      'Seconds after the sign-in at which a browser is signed out, even if it is in use. It is signed out earlier if its admin token expires.',
  }),
} as const satisfies Record<string, Setting<unknown>>;
