/** A store of limits that stands still 120 times, in virtual time, and returns; the short form is an ordinary test. */
import { limitReturns, limitStalls, stallRuns } from '../scenarios/limit-stalls-suite.ts';

const run = stallRuns();
limitStalls(run, 120);
limitReturns(run, 3, [2, 3]);
