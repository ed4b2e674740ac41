/** kill -9 in the middle of an apply, in small; at full size in test/soak/kill-apply.soak.ts. */
import { killedApplies } from '../../scenarios/kill-apply-suite.ts';

killedApplies(6);
