/** kill -9 in the middle of an apply, fifty times; the short form is an ordinary test. */
import { killedApplies } from '../scenarios/kill-apply-suite.ts';

killedApplies(50);
