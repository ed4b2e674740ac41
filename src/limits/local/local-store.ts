/**
 * Limits that are exact across the worker threads of a process: the counters are in shared memory, and each decision is
 * made under the lock of the small bucket that contains its counter.
 *
 * A store belongs to one thread and owns only caches (hashes of rules, and where their counters were last seen); the
 * memory is authoritative. Time: each bucket keeps the latest time that it was given and never goes back, so threads
 * with slightly earlier clock readings admit nothing extra. Only when the wall clock itself was set back by more than
 * `CLOCK_STEP_MS`, the counters are moved to the new time with their counts. Otherwise a clock that was a day ahead for
 * a moment would block callers for a day.
 */
import { assert } from '../../lib/assert.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { releaseColumnOf } from '../concurrency-memory.ts';
import { HEAD_LOCK } from './free-blocks.ts';
import { ask, charge, type Prepared, prepare } from './counter.ts';
import { bucketAt, bucketOf, lockOf, rebaseBucket, repairBucket } from './counter-table.ts';
import { openTable, type Table } from './counter-views.ts';
import { hashText, type HashKey } from '../hash.ts';
import { LATEST_MS, type LimitMemory } from './memory.ts';
import { acquire, release, takeOver } from '../lock.ts';
import {
  type BothDecisions,
  type LimitDecision,
  limitOf,
  type LimitRule,
  type LimitStore,
  refusal,
} from '../store.ts';

export { createLimitMemory, type LimitMemory } from './memory.ts';

/** A larger step back means that the clock was set back; a smaller one, that threads read it at different moments. */
export const CLOCK_STEP_MS = 10_000;

/** Holds a lock while it repairs the state of a dead thread; larger than the number of any thread. */
const SUPERVISOR = 0x7fff_ffff;

export class SharedMemoryLimitStore implements LimitStore {
  readonly #owner: number;
  readonly #clock: Clock;
  readonly #hashKey: HashKey;
  readonly #hash = new Int32Array(2);
  readonly #accountHash = new Int32Array(2);
  readonly #wholeRule = new Int32Array(2);
  readonly #table: Table;
  /** Keyed by object, so that rules of a replaced configuration are collected with it. */
  readonly #prepared = new WeakMap<LimitRule, Prepared>();
  #last: Prepared | undefined;

  /**
   * @param owner a number from 1 that no other thread uses at the same time; pass it to `releaseLocksOf` when the
   * thread has died
   * @param clock only used to confirm that the wall clock was set back
   */
  constructor(memory: LimitMemory, owner: number, clock: Clock = systemClock) {
    assert(Number.isInteger(owner) && owner > 0 && owner < SUPERVISOR, `bad number of a thread: ${owner}`);
    this.#owner = owner;
    this.#clock = clock;
    this.#hashKey = memory.hashKey;
    this.#table = openTable(memory.counters, owner);
    hashText('', this.#hashKey, this.#wholeRule);
  }

  take(rule: LimitRule, subject: string, nowMs: number): LimitDecision {
    return this.#decide(rule, subject, Math.floor(nowMs), true);
  }

  peek(rule: LimitRule, subject: string, nowMs: number): LimitDecision {
    return this.#decide(rule, subject, Math.floor(nowMs), false);
  }

  /**
   * Holds both locks at once, always acquired in the same order. A refused request can be counted under one of the
   * rules only when both counters are in the same bucket of a full memory, and creating the first evicts the second.
   */
  takeBoth(
    firstRule: LimitRule,
    firstSubject: string,
    secondRule: LimitRule,
    secondSubject: string,
    nowMs: number,
  ): BothDecisions {
    assert(firstRule !== secondRule, 'the two rules must differ');
    const askedMs = Math.floor(nowMs);
    const table = this.#table;
    const first = this.#keyed(firstRule, firstSubject);
    const second = this.#keyed(secondRule, secondSubject);
    const firstBucket = bucketOf(table, first.key);
    const secondBucket = bucketOf(table, second.key);
    if (!this.#acquireBoth(firstBucket, secondBucket)) {
      return { first: refusedByLock(firstRule), second: refusedByLock(secondRule) };
    }
    try {
      const firstMs = this.#advance(firstBucket, askedMs, true);
      const secondMs = this.#advance(secondBucket, askedMs, true);
      const expected = ask(table, second, secondBucket, secondMs, askedMs, false);
      const decision = ask(table, first, firstBucket, firstMs, askedMs, expected.admitted);
      if (!expected.admitted || !decision.admitted) return { first: decision, second: expected };
      return { first: decision, second: ask(table, second, secondBucket, secondMs, askedMs, true) };
    } finally {
      release(table.words, lockOf(secondBucket));
      if (firstBucket !== secondBucket) release(table.words, lockOf(firstBucket));
    }
  }

  #decide(rule: LimitRule, subject: string, askedMs: number, consume: boolean): LimitDecision {
    const prepared = this.#keyed(rule, subject);
    const table = this.#table;
    const bucket = bucketOf(table, prepared.key);
    const lock = lockOf(bucket);
    if (!acquire(table.words, lock, this.#owner)) return refusedByLock(rule);
    try {
      return ask(table, prepared, bucket, this.#advance(bucket, askedMs, consume), askedMs, consume);
    } finally {
      release(table.words, lock);
    }
  }

  /** Acquires the locks of two buckets, which may be the same; false, with neither held, when one is not available. */
  #acquireBoth(first: number, second: number): boolean {
    const { words } = this.#table;
    const outer = Math.min(first, second);
    const inner = Math.max(first, second);
    if (!acquire(words, lockOf(outer), this.#owner)) return false;
    if (inner === outer || acquire(words, lockOf(inner), this.#owner)) return true;
    release(words, lockOf(outer));
    return false;
  }

  /** The prepared rule with its key set to the subject. */
  #keyed(rule: LimitRule, subject: string): Prepared {
    const prepared = this.#last?.rule === rule ? this.#last : this.#prepare(rule);
    const { key } = prepared;
    let hash = this.#wholeRule;
    if (subject !== '') {
      hash = this.#hash;
      hashText(subject, this.#hashKey, hash);
    }
    key.tag = (hash[0]! ^ prepared.hash) | 1;
    key.subject = hash[1]! ^ prepared.hash2;
    return prepared;
  }

  /** Counts `count` requests (at least 1) that were admitted elsewhere, whether the rule admits them or not. */
  charge(rule: LimitRule, subject: string, nowMs: number, count: number): void {
    const prepared = this.#keyed(rule, subject);
    const table = this.#table;
    const bucket = bucketOf(table, prepared.key);
    const lock = lockOf(bucket);
    if (!acquire(table.words, lock, this.#owner)) return;
    try {
      charge(table, prepared, bucket, this.#advance(bucket, Math.floor(nowMs), true), count);
    } finally {
      release(table.words, lock);
    }
  }

  /** The effective time of this bucket. */
  #advance(bucket: number, askedMs: number, consume: boolean): number {
    const { cells } = this.#table;
    const latest = bucket + LATEST_MS;
    const latestMs = cells[latest]!;
    if (askedMs >= latestMs) {
      if (consume) cells[latest] = askedMs;
      return askedMs;
    }
    if (latestMs - askedMs <= CLOCK_STEP_MS) return latestMs;
    // Either the caller read the clock long ago, or the clock was set back; only a new reading can decide.
    const clockMs = Math.floor(this.#clock.nowMs());
    if (latestMs - clockMs <= CLOCK_STEP_MS) return latestMs;
    const steppedMs = Math.max(askedMs, clockMs);
    rebaseBucket(this.#table, bucket, latestMs, steppedMs);
    return steppedMs;
  }

  #prepare(rule: LimitRule): Prepared {
    let prepared = this.#prepared.get(rule);
    if (prepared === undefined) {
      hashText(`${rule.algorithm} ${rule.windowMs} ${rule.id}`, this.#hashKey, this.#hash);
      hashText(rule.id, this.#hashKey, this.#accountHash);
      prepared = prepare(rule, this.#table, this.#hash, this.#accountHash);
      this.#prepared.set(rule, prepared);
    }
    this.#last = prepared;
    return prepared;
  }
}

/** The thread that holds the lock must have died. Refusing is safe until the supervisor has repaired the bucket. */
function refusedByLock(rule: LimitRule): LimitDecision {
  return refusal(limitOf(rule), 1000, 1000);
}

/**
 * Frees the locks of a thread that no longer runs, and repairs what it left unfinished. Returns the number of freed
 * locks, at most 4: two of its request, one of another bucket that it searched for room, and the lock of the blocks.
 */
export function releaseLocksOf(memory: LimitMemory, owner: number): number {
  const table = openTable(memory.counters, SUPERVISOR);
  const { words } = table;
  let freed = 0;
  if (takeOver(words, HEAD_LOCK, owner, SUPERVISOR)) {
    release(words, HEAD_LOCK);
    freed++;
  }
  for (let index = 0; index <= table.bucketMask; index++) {
    const bucket = bucketAt(index);
    // There may be a million words. The value of a thread that has ended does not change, so no atomic read is needed.
    if (words[lockOf(bucket)] !== owner || !takeOver(words, lockOf(bucket), owner, SUPERVISOR)) continue;
    repairBucket(table, bucket);
    release(words, lockOf(bucket));
    freed++;
  }
  return freed;
}

/**
 * Cleans up after a thread that no longer runs: releases its locks and its concurrency permits. The main thread calls
 * it when a worker has exited, before another one starts.
 */
export function releaseThread(memory: LimitMemory, owner: number): void {
  releaseLocksOf(memory, owner);
  releaseColumnOf(memory.concurrency, owner);
}
