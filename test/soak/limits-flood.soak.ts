/** Limits are exact under wrk over eight connections on two workers for 20 s; the short form is an ordinary test. */
import { limitsUnderFlood } from '../scenarios/limits-flood-suite.ts';

limitsUnderFlood(20, {
  by: 'wrk',
  report: (name, outcome) => void process.stdout.write(`${name} ${JSON.stringify(outcome)}\n`),
});
