/** Limits are exact under a flood, for a second; for twenty seconds by wrk it is a soak. */
import { limitsUnderFlood } from '../../scenarios/limits-flood-suite.ts';

limitsUnderFlood(1.2);
