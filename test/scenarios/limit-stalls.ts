/**
 * Gateways that share one limit, in virtual time: the gateway's own code on every node, the scripts that it sends on a
 * real server whose clock is the virtual one, and a network between them that stands still when the test says so.
 * Requests come at even distances; nothing is random, so each run is the same.
 */
import { VirtualTime } from '../../bench/sim/virtual-time.ts';
import { LeasedLimitStore } from '../../src/limits/shared/leased-store.ts';
import type { GrantDone, GrantRequest, LimitServer } from '../../src/limits/shared/limit-server.ts';
import { createLimitMemory, SharedMemoryLimitStore } from '../../src/limits/local/local-store.ts';
import type { LimitDecision, LimitRule } from '../../src/limits/store.ts';
import type { ScriptRunner } from '../support/programs/redis-script.ts';

export interface Stalls {
  /** Of the store: how long it answers, and then does not, in turn. */
  readonly answersMs: number;
  readonly stallsMs: number;
  /** From then on it answers for good. */
  readonly untilMs?: number;
  /** The only nodes that notice; the others are answered all the time. */
  readonly nodes?: readonly number[];
}

export interface StallScenario {
  readonly rule: LimitRule;
  readonly nodes: number;
  readonly threads: number;
  readonly stalls: Stalls;
  /** Requests per second at one node at that time. */
  readonly ratePerSecond: (node: number, atMs: number, isStalled: boolean) => number;
  readonly lengthMs: number;
}

export interface Admission {
  readonly atMs: number;
  readonly node: number;
}

const START_MS = 1_790_000_000_000;
const ONE_WAY_MS = 0.3;
const TIMEOUT_MS = 40;
/** At the turn between two rates the next request is looked for so soon. */
const IDLE_MS = 5;

/** Every admission, by the clock of the store, from 0 on. */
export async function runStalls(
  scripts: ScriptRunner,
  key: string,
  scenario: StallScenario,
): Promise<Admission[]> {
  const { rule, nodes, threads, stalls, lengthMs } = scenario;
  const time = new VirtualTime();
  const originMs = time.nowMs;
  const admissions: Admission[] = [];
  const pending = new Set<Promise<void>>();
  const periodMs = stalls.answersMs + stalls.stallsMs;
  const isStalled = (): boolean => {
    const atMs = time.nowMs - originMs;
    return atMs < (stalls.untilMs ?? Infinity) && atMs % periodMs >= stalls.answersMs;
  };
  const ask = async (request: GrantRequest, done: GrantDone): Promise<void> => {
    const atMs = START_MS + Math.floor(time.nowMs - originMs);
    const reply = await scripts.run(request.rule, `${key}${request.key}`, atMs, request);
    time.after(ONE_WAY_MS, () => done(reply, ''));
  };
  const serverOf = (node: number): LimitServer => {
    const feelsStalls = stalls.nodes?.includes(node) ?? true;
    const arrive = (request: GrantRequest, done: GrantDone): void => {
      if (feelsStalls && isStalled()) {
        const leftMs = periodMs - ((time.nowMs - originMs) % periodMs);
        time.after(leftMs, () => arrive(request, done));
        return;
      }
      const asked = ask(request, done);
      pending.add(asked);
      void asked.finally(() => pending.delete(asked));
    };
    return {
      grant: (request, done) => void time.after(ONE_WAY_MS, () => arrive(request, done)),
      reconnect: () => undefined,
    };
  };
  const settle = async (): Promise<void> => {
    while (pending.size > 0) await Promise.all(pending);
  };
  const wallMs = (): number => START_MS + Math.floor(time.nowMs - originMs);
  for (let node = 0; node < nodes; node++) {
    const memory = createLimitMemory({ counterBytes: 65_536, callers: 16, threads });
    const stores = Array.from({ length: threads }, (_, thread) => {
      const store = new LeasedLimitStore({
        server: serverOf(node),
        local: new SharedMemoryLimitStore(memory, thread + 1),
        clock: { nowMs: wallMs, monotonicMs: () => time.nowMs },
        after: time.after,
        nodes: { count: nodes, rank: node },
        threads,
        leasesMax: 65_536,
        mode: 'leased',
        timeoutMs: TIMEOUT_MS,
        onOutage: () => undefined,
        onRecovery: () => undefined,
      });
      store.start();
      return store;
    });
    const note = ({ admitted }: LimitDecision): void => {
      if (admitted) admissions.push({ atMs: time.nowMs - originMs, node });
    };
    let turn = node;
    const next = (): void => {
      const perSecond = scenario.ratePerSecond(node, time.nowMs - originMs, isStalled());
      if (perSecond === 0) return void time.after(IDLE_MS, next);
      const decision = stores[turn++ % threads]!.take(rule, '', wallMs());
      if (decision instanceof Promise) void decision.then(note);
      else note(decision);
      time.after(1_000 / perSecond, next);
    };
    // After the first answer of the store.
    time.after(10 + node, next);
  }
  await time.runUntil(originMs + lengthMs, settle);
  return admissions.toSorted((one, other) => one.atMs - other.atMs);
}

/** How far a bucket of that rate, which never refuses, is emptied at most: what the limit promises is `burst`. */
export function deepestDebt(admissions: readonly Admission[], { requests, windowMs }: LimitRule): number {
  let debt = 0;
  let lastMs = 0;
  let deepest = 0;
  for (const { atMs } of admissions) {
    debt = Math.max(0, debt - ((atMs - lastMs) * requests) / windowMs) + 1;
    lastMs = atMs;
    deepest = Math.max(deepest, debt);
  }
  return deepest;
}

/** The most in any window: of the store's clock for a fixed one, wherever it lies for a sliding one. */
export function fullestWindow(admissions: readonly Admission[], { algorithm, windowMs }: LimitRule): number {
  let fullest = 0;
  for (const [index, { atMs }] of admissions.entries()) {
    const window = Math.floor(atMs / windowMs);
    let count = 0;
    for (let at = index; at >= 0; at--) {
      const before = admissions[at]!.atMs;
      const isInside =
        algorithm === 'fixed_window' ? Math.floor(before / windowMs) === window : before > atMs - windowMs;
      if (!isInside) break;
      count += 1;
    }
    fullest = Math.max(fullest, count);
  }
  return fullest;
}

export function admittedBetween(admissions: readonly Admission[], fromMs: number, untilMs: number): number {
  return admissions.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs).length;
}
