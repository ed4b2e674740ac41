/**
 * One gateway that is cut off from the store of limits while another one goes on asking it: it admits its fair share
 * beyond what the other gets, and nothing more once it is back.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  LATE_PER_GATEWAY,
  LIMIT,
  PATIENT,
  runPartition,
  type Rig,
  SHARED,
  startRig,
} from '../../scenarios/limit-outage-scenario.ts';

/** Longer than a gateway counts as live without a heartbeat, so that the other one counts itself alone. */
const CUT_OFF_MS = 6_200;
const AFTER_MS = 2_000;
/** Of each limit, of the five windows at least that there are. */
const FLOODED_WINDOWS_MIN = 3;
const ATTEMPTS = 3;

let rig: Rig;
beforeAll(async () => {
  rig = await startRig('first', PATIENT);
});
afterAll(() => rig.close());

it('a gateway that alone is cut off admits its share, and half of the limit comes on top', async () => {
  let flooded = 0;
  for (let attempt = 0; attempt < ATTEMPTS && flooded < FLOODED_WINDOWS_MIN; attempt++) {
    flooded = await floodedWhileCutOff();
  }
  expect(flooded, `flooded windows of a limit, in the last of ${ATTEMPTS} attempts`).toBeGreaterThanOrEqual(
    FLOODED_WINDOWS_MIN,
  );
}, 120_000);

/** Cuts it off and brings it back; resolves with how many windows were flooded, of the limit with the fewest. */
async function floodedWhileCutOff(): Promise<number> {
  const { failures, statuses, during, afterwards } = await runPartition(rig, CUT_OFF_MS, AFTER_MS);
  expect(failures).toEqual([]);
  expect(Object.keys(statuses).toSorted()).toEqual(['200', '429']);
  expect(during.length).toBeGreaterThanOrEqual(10);
  for (const { name, cutOff, all } of during) {
    expect(cutOff, name).toBeLessThanOrEqual(LIMIT / 2 + LATE_PER_GATEWAY);
    expect(all, name).toBeLessThanOrEqual(1.5 * LIMIT + 2 * LATE_PER_GATEWAY);
  }
  // On a machine that stands still for a while some windows pass without being asked for: where it is most of them,
  // it is done once more.
  const floods = during.filter(({ isFlood }) => isFlood);
  const sum = (of: 'cutOff' | 'all'): number => floods.reduce((total, window) => total + window[of], 0);
  expect(sum('cutOff')).toBeGreaterThanOrEqual(0.9 * (LIMIT / 2) * floods.length);
  expect(sum('all')).toBeGreaterThanOrEqual(0.9 * 1.5 * LIMIT * floods.length);
  expect(afterwards.length).toBeGreaterThanOrEqual(2);
  for (const { name, all } of afterwards) expect(all, name).toBeLessThanOrEqual(LIMIT + 2 * LATE_PER_GATEWAY);
  return Math.min(...SHARED.map((shared) => floods.filter(({ name }) => name === shared).length));
}
