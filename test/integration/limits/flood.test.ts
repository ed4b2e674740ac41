/** Limits are exact under a flood, for a short time; for twenty seconds by wrk it is a soak. */
import { limitsUnderFlood } from '../../scenarios/limits-flood-suite.ts';

limitsUnderFlood(2);
