/**
 * A store of limits that is stopped, frozen, slow, or cut off, and comes back: no request fails, each gateway goes by
 * its fair share within a second and comes back within five, and the store costs no request 50 ms.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  LATE_PER_GATEWAY,
  LIMIT,
  OUTAGES,
  type OutageResult,
  PATIENT,
  type Rig,
  runOutage,
  SHARED,
  startRig,
} from '../../scenarios/limit-outage-scenario.ts';
import { startLoad, statusesOf } from '../../support/clients/paced-load.ts';

const OUTAGE_MS = 2_100;
const NOTICED_MS_MAX = 1_000;
const RECOVERED_MS_MAX = 5_000;
const ADDED_MS_MAX = 50;
/** A store that lost its counters grants all of a limit again in this time. */
const REGRANTED_MS = 500;
const ATTEMPTS = 3;

const addedMs = ({ p99BeforeMs, p99DuringMs }: OutageResult): number => p99DuringMs - p99BeforeMs;
const isInTime = (result: OutageResult): boolean =>
  result.noticedMs <= NOTICED_MS_MAX &&
  result.recoveredMs <= RECOVERED_MS_MAX &&
  addedMs(result) <= ADDED_MS_MAX;
/** Of what there was; where all is allowed, enough was asked for. */
const isUsed = ({ admitted, windows }: OutageResult): boolean =>
  windows >= 1 &&
  SHARED.every((mode) => (admitted[mode] ?? 0) >= 0.9 * LIMIT * windows) &&
  (admitted['allow'] ?? 0) > LIMIT * (windows + 1);

/** What holds each time, however late the machine is. */
function expectNothingBeyond({ failures, statuses, admitted, windows }: OutageResult): void {
  expect(failures).toEqual([]);
  expect(Object.keys(statuses).toSorted()).toEqual(['200', '429']);
  for (const mode of SHARED) {
    expect(admitted[mode], mode).toBeLessThanOrEqual(LIMIT * windows + 2 * LATE_PER_GATEWAY);
  }
  expect(admitted['deny']).toBe(0);
}

/** Far more than the limits that are shared, through both gateways. */
function startSharedLoad({ nodes }: Rig) {
  const load = startLoad({
    ports: nodes.gateways.map(({ proxyPort }) => proxyPort),
    paths: Object.fromEntries(SHARED.map((name) => [name, `/${name}/v1/x`])),
    everyMs: 10,
  });
  const beganMs = Date.now();
  return {
    ...load,
    admitted: (name: string) =>
      load.answers.filter((answer) => answer.name === name && answer.status === 200).length,
    /** Whether each limit was asked for, by each gateway, as often as it has permits, between two times. */
    isFlood: (fromMs: number, untilMs: number) => {
      const then = load.answers.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs);
      const asked = (name: string, of: number): number =>
        then.filter((answer) => answer.name === name && answer.gateway === of).length;
      return SHARED.every((name) => nodes.gateways.every((_, gateway) => asked(name, gateway) >= LIMIT));
    },
    /** Of a second, from the first to the one of the last answer. */
    windows: () => {
      const lastMs = Math.max(...load.answers.map(({ atMs }) => atMs));
      return Math.floor(lastMs / 1_000) - Math.floor(beganMs / 1_000) + 1;
    },
  };
}

describe('while the store of limits is away', { timeout: 90_000 }, () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await startRig();
  });
  afterAll(() => rig.close());

  it.each(OUTAGES)('$name: limits go on by fair shares, and come back', async (outage) => {
    let result = await runOutage(rig, outage, OUTAGE_MS);
    expectNothingBeyond(result);
    // A machine that others use too may be late by itself: when the gateway is, it is each time.
    for (let again = 0; again < 3 && !(isInTime(result) && isUsed(result)); again++) {
      result = await runOutage(rig, outage, OUTAGE_MS);
      expectNothingBeyond(result);
    }
    const { noticedMs, recoveredMs, admitted, windows } = result;
    expect(noticedMs).toBeLessThanOrEqual(NOTICED_MS_MAX);
    expect(recoveredMs).toBeLessThanOrEqual(RECOVERED_MS_MAX);
    expect(addedMs(result)).toBeLessThanOrEqual(ADDED_MS_MAX);
    expect(windows).toBeGreaterThanOrEqual(1);
    for (const mode of SHARED) {
      expect(admitted[mode], mode).toBeGreaterThanOrEqual(0.9 * LIMIT * windows);
    }
    expect(admitted['allow']).toBeGreaterThan(LIMIT * (windows + 1));
  });

  it('says so in its readiness and its log', async () => {
    const [gateway] = rig.nodes.gateways;
    await rig.redis.stop();
    await expect
      .poll(async () => (await gateway?.api('GET', '//readyz'))?.body.data)
      .toEqual({ ready: true, reason: expect.stringContaining('one of 2') as string });
    await rig.redis.start();
    await expect
      .poll(async () => (await gateway?.api('GET', '//readyz'))?.body.data)
      .toEqual({ ready: true, reason: null });
    const line = () =>
      gateway?.logs().find(({ msg }) => String(msg).startsWith('the limit store is unreachable'));
    await expect.poll(line).toMatchObject({ level: 'warn', reason: expect.any(String) as string });
  });
});

describe('with a store that is there', { timeout: 90_000 }, () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await startRig('both', PATIENT);
  });
  afterAll(() => rig.close());

  it('a store that loses its counters admits a limit once more for each loss, and every request is served', async () => {
    const lose = async (): Promise<number> => {
      expect(await rig.redis.command('KEYS', 'headgate:limit:*')).toContain('headgate:limit:');
      await rig.redis.command('FLUSHALL');
      return Date.now();
    };
    /** Whether both times so much was asked for that what is granted again shows. */
    const isBounded = async (): Promise<boolean> => {
      const load = startSharedLoad(rig);
      await pause(1_000);
      const onceMs = await lose();
      await pause(REGRANTED_MS);
      const twiceMs = await lose();
      await pause(1_000);
      await load.stop();
      const windows = load.windows();
      for (const name of SHARED) {
        expect(load.admitted(name), name).toBeLessThanOrEqual(LIMIT * (windows + 2));
      }
      expect(load.failures).toEqual([]);
      return [onceMs, twiceMs].every((fromMs) => load.isFlood(fromMs, fromMs + REGRANTED_MS));
    };
    let isFlood = false;
    for (let attempt = 0; attempt < ATTEMPTS && !isFlood; attempt++) isFlood = await isBounded();
    expect(isFlood, 'the store was flooded after each loss').toBe(true);
  });

  it('kill -9 of a gateway takes its permits along and admits nothing extra', async () => {
    const load = startSharedLoad(rig);
    await pause(700);
    const stopped = load.stop(1);
    await rig.nodes.gateways[1]?.kill();
    await stopped;
    await pause(2_000);
    await load.stop();
    const windows = load.windows();
    for (const name of SHARED) {
      const admitted = load.admitted(name);
      expect(admitted, name).toBeLessThanOrEqual(LIMIT * windows);
      const left = load.answers.filter((answer) => answer.gateway === 0 && answer.name === name);
      expect(Object.keys(statusesOf(left)).toSorted(), name).toEqual(['200', '429']);
    }
  });
});
