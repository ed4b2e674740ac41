/**
 * Limits that are exact across the worker threads of a process: the counters are in shared memory, and each
 * decision is made under the lock of the one small set in which its counter lives.
 *
 * A store belongs to one thread and owns only caches (hashes of rules, where their counters were last seen);
 * the truth is in the memory. Time: each set keeps the latest time it was given and never goes back behind it, so
 * threads whose clocks were read a little earlier admit nothing extra. Only when the wall clock itself was set back by
 * more than `CLOCK_STEP_MS` are the counters carried over to the new time, with all they count; without that a
 * clock that was a day ahead for a moment would shut callers out for a day.
 */
import { assert } from '../kernel/assert.ts';
import { type Clock, systemClock } from '../kernel/clock.ts';
import { releaseColumnOf } from './concurrency-memory.ts';
import { ask, type Prepared, prepare } from './counter.ts';
import {
  fillWay,
  findWay,
  lockOf,
  openTable,
  rebaseSet,
  repairSet,
  setOf,
  slotAt,
  type Table,
} from './counter-table.ts';
import { beginCounter, freeWay } from './eviction.ts';
import { hashText, type HashKey } from './hash.ts';
import { LATEST_MS, type LimitMemory } from './memory.ts';
import { acquire, release, takeOver } from './set-lock.ts';
import { type BothDecisions, type LimitDecision, type LimitRule, type LimitStore, refusal } from './store.ts';

export { createLimitMemory, type LimitMemory, type LimitMemoryOptions } from './memory.ts';

/** A clock that goes back by more than this was set back; less is threads reading it at different moments. */
export const CLOCK_STEP_MS = 10_000;

/** Holds a lock while mending what a dead thread left; larger than any number of a thread. */
const SUPERVISOR = 0x7fff_ffff;

export class SharedMemoryLimitStore implements LimitStore {
  readonly #owner: number;
  readonly #clock: Clock;
  readonly #hashKey: HashKey;
  readonly #hash = new Int32Array(2);
  readonly #wholeRule = new Int32Array(2);
  readonly #counters: Table;
  readonly #logs: Table;
  /** Keyed by the object: rules of a configuration that is gone are forgotten with it. */
  readonly #prepared = new WeakMap<LimitRule, Prepared>();
  #last: Prepared | undefined;

  /**
   * `owner` is a number from 1 that no other thread uses at the same time; it is what `releaseLocksOf` is told when
   * the thread has died. `clock` is only asked to confirm that the wall clock was set back.
   */
  constructor(memory: LimitMemory, owner: number, clock: Clock = systemClock) {
    assert(Number.isInteger(owner) && owner > 0 && owner < SUPERVISOR, `bad number of a thread: ${owner}`);
    this.#owner = owner;
    this.#clock = clock;
    this.#hashKey = memory.hashKey;
    this.#counters = openTable(memory.counters);
    this.#logs = openTable(memory.logs);
    hashText('', this.#hashKey, this.#wholeRule);
  }

  take(rule: LimitRule, subject: string, nowMs: number): LimitDecision {
    return this.#decide(rule, subject, Math.floor(nowMs), true);
  }

  peek(rule: LimitRule, subject: string, nowMs: number): LimitDecision {
    return this.#decide(rule, subject, Math.floor(nowMs), false);
  }

  /**
   * Both locks are held meanwhile, and always taken in the same order. One of both counts is kept for a request that is
   * refused only where the two live in the same, full set, and beginning the first evicts the second.
   */
  takeBoth(
    firstRule: LimitRule,
    firstSubject: string,
    secondRule: LimitRule,
    secondSubject: string,
    nowMs: number,
  ): BothDecisions {
    assert(firstRule !== secondRule, 'one limit cannot be taken as two');
    const askedMs = Math.floor(nowMs);
    const first = this.#keyed(firstRule, firstSubject);
    const second = this.#keyed(secondRule, secondSubject);
    const firstSet = setOf(first.table, first.key);
    const secondSet = setOf(second.table, second.key);
    const isOneSet = first.table === second.table && firstSet === secondSet;
    const isInOrder = first.table === second.table ? firstSet < secondSet : first.table === this.#counters;
    const isLocked = isInOrder
      ? this.#acquireBoth(first.table, firstSet, second.table, secondSet)
      : this.#acquireBoth(second.table, secondSet, first.table, isOneSet ? -1 : firstSet);
    if (!isLocked) {
      return { first: refusedByLock(firstRule), second: refusedByLock(secondRule) };
    }
    try {
      const firstMs = this.#advance(first.table, firstSet, askedMs, true);
      const secondMs = this.#advance(second.table, secondSet, askedMs, true);
      const expected = ask(second, secondSet, secondMs, askedMs, false);
      const decision = ask(first, firstSet, firstMs, askedMs, expected.admitted);
      if (!expected.admitted || !decision.admitted) return { first: decision, second: expected };
      return { first: decision, second: ask(second, secondSet, secondMs, askedMs, true) };
    } finally {
      release(second.table.words, lockOf(second.table, secondSet));
      if (!isOneSet) release(first.table.words, lockOf(first.table, firstSet));
    }
  }

  #decide(rule: LimitRule, subject: string, askedMs: number, consume: boolean): LimitDecision {
    const prepared = this.#keyed(rule, subject);
    const { table } = prepared;
    const set = setOf(table, prepared.key);
    const lock = lockOf(table, set);
    if (!acquire(table.words, lock, this.#owner)) return refusedByLock(rule);
    try {
      return ask(prepared, set, this.#advance(table, set, askedMs, consume), askedMs, consume);
    } finally {
      release(table.words, lock);
    }
  }

  /** The locks of two sets in this order, -1 being none; false, with neither held, if one could not be had. */
  #acquireBoth(outer: Table, outerSet: number, inner: Table, innerSet: number): boolean {
    const lock = lockOf(outer, outerSet);
    if (!acquire(outer.words, lock, this.#owner)) return false;
    if (innerSet < 0 || acquire(inner.words, lockOf(inner, innerSet), this.#owner)) return true;
    release(outer.words, lock);
    return false;
  }

  /** The rule, its key set to the subject. */
  #keyed(rule: LimitRule, subject: string): Prepared {
    const prepared = this.#last?.rule === rule ? this.#last : this.#prepare(rule);
    const { key } = prepared;
    if (subject === '') {
      key.tag = this.#wholeRule[0]! | 1;
      key.subject = this.#wholeRule[1]!;
    } else {
      hashText(subject, this.#hashKey, this.#hash);
      key.tag = this.#hash[0]! | 1;
      key.subject = this.#hash[1]!;
    }
    return prepared;
  }

  /** Counts `count` requests, at least 1, that were admitted elsewhere, whether the rule admits them or not. */
  charge(rule: LimitRule, subject: string, nowMs: number, count: number): void {
    const prepared = this.#prepare(rule);
    const { table, key, algorithm } = prepared;
    hashText(subject, this.#hashKey, this.#hash);
    key.tag = this.#hash[0]! | 1;
    key.subject = this.#hash[1]!;
    const set = setOf(table, key);
    const lock = lockOf(table, set);
    if (!acquire(table.words, lock, this.#owner)) return;
    try {
      const countedMs = this.#advance(table, set, Math.floor(nowMs), true);
      const way = findWay(table, set, key, prepared.likelyWay);
      if (way >= 0) {
        algorithm.charge(table.cells, slotAt(table, set, way), rule, countedMs, count);
        return;
      }
      beginCounter(table, set, algorithm, rule, prepared.evicted, countedMs);
      algorithm.charge(table.scratch, 0, rule, countedMs, count);
      fillWay(table, set, freeWay(table, set, countedMs), key);
    } finally {
      release(table.words, lock);
    }
  }

  /** The time that counts in this set. */
  #advance(table: Table, set: number, askedMs: number, consume: boolean): number {
    const latest = set * table.setCells + LATEST_MS;
    const latestMs = table.cells[latest]!;
    if (askedMs >= latestMs) {
      if (consume) table.cells[latest] = askedMs;
      return askedMs;
    }
    if (latestMs - askedMs <= CLOCK_STEP_MS) return latestMs;
    // Either the caller read the clock long ago, or the clock was set back: only a new reading can tell.
    const clockMs = Math.floor(this.#clock.nowMs());
    if (latestMs - clockMs <= CLOCK_STEP_MS) return latestMs;
    const steppedMs = Math.max(askedMs, clockMs);
    rebaseSet(table, set, latestMs, steppedMs);
    return steppedMs;
  }

  #prepare(rule: LimitRule): Prepared {
    let prepared = this.#prepared.get(rule);
    if (prepared === undefined) {
      hashText(`${rule.algorithm} ${rule.windowMs} ${rule.id}`, this.#hashKey, this.#hash);
      const table = rule.algorithm === 'sliding_window' ? this.#logs : this.#counters;
      prepared = prepare(rule, table, this.#hash);
      this.#prepared.set(rule, prepared);
    }
    this.#last = prepared;
    return prepared;
  }
}

/** Whoever holds the lock must have died. Refusing is the safe answer until the supervisor has mended the set. */
function refusedByLock({ requests }: LimitRule): LimitDecision {
  return refusal(requests, 1000, 1000);
}

/**
 * Frees the locks of a thread that no longer runs, and mends what it left half done. Returns how many locks were freed
 * (at most 2).
 */
export function releaseLocksOf(memory: LimitMemory, owner: number): number {
  let freed = 0;
  for (const table of [openTable(memory.counters), openTable(memory.logs)]) {
    for (let set = 0; set <= table.setMask; set++) {
      const lock = lockOf(table, set);
      if (!takeOver(table.words, lock, owner, SUPERVISOR)) continue;
      repairSet(table, set);
      release(table.words, lock);
      freed++;
    }
  }
  return freed;
}

/**
 * Takes back all that a thread which no longer runs has left behind: its locks, and its places under concurrency caps.
 * The main thread calls it when a worker has exited, before another one starts in its place.
 */
export function releaseThread(memory: LimitMemory, owner: number): void {
  releaseLocksOf(memory, owner);
  releaseColumnOf(memory.concurrency, owner);
}
