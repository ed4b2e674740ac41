/**
 * Limits across many nodes: each thread takes permits of a counter from the store that all nodes share, and decides at
 * once while it has a permit at hand. Only without one does a request wait, for one round trip; requests that wait for
 * the same counter share one call. The store counts the permits that it grants, so all nodes together never admit more
 * than the limit.
 *
 * `leased` counters take portions ahead of need (lease-size.ts) and cache a refusal for a while. `exact` counters take
 * only what the waiting requests need. When the store is unreachable (store-circuit.ts), permits at hand are used up,
 * and then the rule says how to decide (without-store.ts). Requests admitted in this way are reported to the store as
 * soon as it answers (debts.ts). Until all threads have had the time to report, none takes permits.
 *
 * Owns the leases of one thread; unused-permits.ts returns unused permits. Rules that are not shared go to the node's
 * own counters directly.
 */
import type { Clock } from '../../lib/clock.ts';
import { Debts } from './debts.ts';
import { holdersOf, portionOf } from './lease-size.ts';
import { LeaseTable, type PreparedRule } from './lease-table.ts';
import type { Lease, Report, Waiter } from './lease.ts';
import type { LeasedStoreCounts, LeasedStoreDeps } from './leased-store-deps.ts';
import {
  type GrantReply,
  type GrantRequest,
  NOTHING_ASKED,
  numberedProbe,
  PROBE_REQUEST,
} from './limit-server.ts';
import { SETTLE_MS, StoreCircuit } from './store-circuit.ts';
import { type LimitDecision, limitOf, type LimitRule, type LimitStore, refusal } from '../store.ts';
import { UnusedPermits } from './unused-permits.ts';
import { type NodeLimits, WithoutStore } from './without-store.ts';

interface Call {
  readonly lease: Lease;
  readonly prepared: PreparedRule;
  readonly waiters: readonly Waiter[];
  readonly sentMs: number;
  readonly report: Report;
  /** The call was made only to report a debt. */
  readonly isTold: boolean;
  readonly cancel: () => void;
  settled: boolean;
}

/** When a timer is late because the thread was busy, the answer may be in the socket, which is read in between. */
const SECOND_LOOK_MS = 1;
/** Pause for a counter whose server did not answer while others do, or which the store refuses. */
const LEASE_PAUSE_MS = 200;
/** While one of several servers has answered this recently, only some of them are lost. */
const PARTS_MS = 1_000;
/** Weight of the latest round trip in the average. */
const ROUND_TRIP_WEIGHT = 1 / 8;

export class LeasedLimitStore implements LimitStore {
  readonly #deps: LeasedStoreDeps;
  readonly #local: NodeLimits;
  readonly #clock: Clock;
  readonly #table: LeaseTable;
  readonly #circuit: StoreCircuit;
  readonly #calls = new Set<Call>();
  readonly #unused: UnusedPermits;
  readonly #debts: Debts;
  readonly #without: WithoutStore;
  readonly #counts: LeasedStoreCounts = {
    answered: 0,
    timedOut: 0,
    failed: 0,
    waited: 0,
    share: 0,
    allow: 0,
    deny: 0,
  };
  #roundTripMs = 0;
  #probes = 0;
  #stopped = false;

  constructor(deps: LeasedStoreDeps) {
    this.#deps = deps;
    this.#local = deps.local;
    this.#table = new LeaseTable(deps.leasesMax);
    this.#clock = deps.clock;
    this.#circuit = new StoreCircuit({
      clock: deps.clock,
      after: deps.after,
      timeoutMs: deps.timeoutMs,
      probe: (done) =>
        deps.server.grant(this.#probe(), (reply, reason) => done(reply ? '' : reason || 'no reply')),
      reconnect: () => deps.server.reconnect(),
      onOpen: (reason) => this.#onOutage(reason),
      onStillOpen: (reason) => deps.onStillOut?.(reason),
      onRefused: (reason) => deps.onCounterRefused?.(reason),
      onClose: () => {
        this.#tellDebts();
        deps.onRecovery();
      },
    });
    const { server, clock, after } = deps;
    this.#unused = new UnusedPermits({ server, circuit: this.#circuit, clock, after });
    this.#debts = new Debts((prepared, lease) => this.#call(prepared, lease, true), deps.leasesMax);
    this.#without = new WithoutStore(deps.local, this.#table, deps.nodes);
  }

  get counts(): Readonly<LeasedStoreCounts> {
    return this.#counts;
  }

  /** Whether limits are counted in the store. */
  get isConnected(): boolean {
    return this.#circuit.isSettled(this.#clock.monotonicMs());
  }

  /** Probes the store and starts to look for unused permits. Call it only once. */
  start(): void {
    this.#circuit.start();
    this.#unused.start();
  }

  /** Returns unused permits; later decisions are made without the store. */
  stop(): void {
    this.#unused.stop();
    this.#stopped = true;
    this.#circuit.stop();
  }

  take(rule: LimitRule, subject: string, nowMs: number): LimitDecision | Promise<LimitDecision> {
    if (rule.shared === undefined) return this.#local.take(rule, subject, nowMs);
    const prepared = this.#table.prepare(rule);
    const monotonicMs = this.#clock.monotonicMs();
    const lease = this.#table.find(prepared, subject, monotonicMs);
    if (!lease.ask(rule, monotonicMs)) return this.#takeWithout(prepared, lease, subject, nowMs, monotonicMs);
    lease.use();
    if (lease.isLow) this.#refill(prepared, lease, monotonicMs);
    return lease.admitted(rule, monotonicMs);
  }

  expect(rule: LimitRule, subject: string, nowMs: number): LimitDecision | Promise<LimitDecision> {
    if (rule.shared === undefined) return this.#local.peek(rule, subject, nowMs);
    const prepared = this.#table.prepare(rule);
    const monotonicMs = this.#clock.monotonicMs();
    const lease = this.#table.find(prepared, subject, monotonicMs);
    if (lease.has(rule, monotonicMs)) return lease.admitted(rule, monotonicMs);
    if (this.#isOut(lease, monotonicMs))
      return this.#without.peek(prepared, lease, subject, nowMs, monotonicMs);
    if (!this.#isExact(rule) && lease.isRefused(monotonicMs)) return lease.refused(rule, monotonicMs);
    return this.#wait(prepared, lease, subject, nowMs, true);
  }

  /** Calls the store, since the result depends on the usage of other nodes. */
  peek(rule: LimitRule, subject: string, nowMs: number): LimitDecision | Promise<LimitDecision> {
    if (rule.shared === undefined) return this.#local.peek(rule, subject, nowMs);
    const prepared = this.#table.prepare(rule);
    const monotonicMs = this.#clock.monotonicMs();
    const lease = this.#table.find(prepared, subject, monotonicMs);
    const without = (): LimitDecision =>
      this.#without.peek(prepared, lease, subject, nowMs, this.#clock.monotonicMs());
    if (this.#isOut(lease, monotonicMs)) return without();
    return new Promise((resolve) => {
      const cancel = this.#deps.after(this.#deps.timeoutMs, () => resolve(without()));
      const { key, leaseMs } = lease;
      this.#deps.server.grant({ ...NOTHING_ASKED, rule, key, leaseMs, consume: false }, (reply) => {
        cancel();
        resolve(reply === undefined ? without() : looked(rule, lease, reply));
      });
    });
  }

  #isExact({ shared }: LimitRule): boolean {
    return (shared?.mode ?? this.#deps.mode) === 'exact';
  }

  #isOut(lease: Lease, monotonicMs: number): boolean {
    return !this.#circuit.isSettled(monotonicMs) || monotonicMs < lease.outUntilMs || this.#stopped;
  }

  #takeWithout(
    prepared: PreparedRule,
    lease: Lease,
    subject: string,
    nowMs: number,
    monotonicMs: number,
  ): LimitDecision | Promise<LimitDecision> {
    const { rule } = prepared;
    if (this.#isOut(lease, monotonicMs)) {
      const decision = this.#decideWithout(prepared, lease, subject, nowMs, monotonicMs);
      // While the store answers, report at once.
      if (decision.admitted && !this.#circuit.isOpen) this.#tellDebts();
      return decision;
    }
    if (!this.#isExact(rule) && lease.isRefused(monotonicMs)) return lease.refused(rule, monotonicMs);
    return this.#wait(prepared, lease, subject, nowMs, false);
  }

  #wait(
    prepared: PreparedRule,
    lease: Lease,
    subject: string,
    nowMs: number,
    keeps: boolean,
  ): Promise<LimitDecision> {
    this.#counts.waited += 1;
    return new Promise((resolve) => {
      lease.waiters.push({ rule: prepared.rule, subject, nowMs, keeps, resolve });
      if (!lease.inFlight) this.#call(prepared, lease);
    });
  }

  /** When more than half of a portion is used, fetches the next one before a request has to wait. */
  #refill(prepared: PreparedRule, lease: Lease, monotonicMs: number): void {
    if (lease.inFlight || lease.lowWater === 0 || this.#isExact(prepared.rule)) return;
    if (this.#isOut(lease, monotonicMs) || lease.isRefused(monotonicMs)) return;
    this.#call(prepared, lease);
  }

  /** Requests permits for the waiting requests, and in leased mode a portion beyond them, unless it is a report. */
  #call(prepared: PreparedRule, lease: Lease, isTold = false): void {
    const { rule } = prepared;
    const { server, nodes, threads, timeoutMs, after } = this.#deps;
    const sentMs = this.#clock.monotonicMs();
    const { waiters } = lease;
    lease.waiters = [];
    // A lease that has nearly expired on arrival is not worth taking.
    const isTooFar = 2 * this.#roundTripMs > lease.leaseMs;
    const extra =
      isTold || isTooFar || this.#isExact(rule) ? 0 : portionOf(lease.rate(sentMs), lease.leaseMs);
    lease.lowWater = extra >> 1;
    lease.inFlight = true;
    const report = lease.takeReport(rule, sentMs);
    const onLate = (): void => void after(SECOND_LOOK_MS, () => this.#onTimeout(call));
    const call: Call = {
      lease,
      prepared,
      waiters,
      sentMs,
      report,
      isTold,
      cancel: after(timeoutMs, onLate),
      settled: false,
    };
    this.#calls.add(call);
    server.grant(
      {
        rule,
        key: lease.key,
        consume: true,
        need: waiters.length,
        extra,
        holders: holdersOf(nodes.count, threads),
        leaseMs: lease.leaseMs,
        ...report,
      },
      (reply, reason, isRefused) => this.#onReply(call, reply, reason, isRefused),
    );
  }

  #onReply(call: Call, reply: GrantReply | undefined, reason: string, isRefused = false): void {
    const { lease, prepared, report, sentMs } = call;
    call.cancel();
    if (reply === undefined) {
      this.#counts.failed += 1;
      if (call.settled) return;
      this.#fail(call);
      if (!this.#isPartLost(reason)) {
        if (isRefused) this.#circuit.refused(reason);
        else this.#circuit.failed(reason);
      }
      return this.#pause(lease);
    }
    this.#counts.answered += 1;
    this.#circuit.answered();
    const monotonicMs = this.#clock.monotonicMs();
    lease.told(report, sentMs);
    this.#roundTripMs += (monotonicMs - sentMs - this.#roundTripMs) * ROUND_TRIP_WEIGHT;
    const { rule } = prepared;
    const paid = call.settled ? lease.payOwed(reply.granted) : 0;
    const waiting = call.settled ? 0 : call.waiters.filter(({ keeps }) => !keeps).length;
    const kept = Math.max(0, reply.granted - paid - waiting);
    lease.learn({ rule, sentMs, report, paid }, reply, kept, monotonicMs);
    if (!call.settled) {
      this.#settle(call);
      this.#serve(call.waiters, reply.granted, lease, monotonicMs);
      this.#serveLater(prepared, lease, monotonicMs);
    }
    this.#unused.note(prepared, lease, monotonicMs);
    this.#tellDebts();
  }

  #tellDebts(): void {
    if (!this.#circuit.isOpen && !this.#stopped) this.#debts.tellAll(this.#clock.monotonicMs());
  }

  /** Serves the requests of the call: as many as permits were granted; the store has refused the others. */
  #serve(waiters: readonly Waiter[], granted: number, lease: Lease, monotonicMs: number): void {
    for (const [index, { rule, resolve }] of waiters.entries()) {
      resolve(index < granted ? lease.admitted(rule, monotonicMs) : lease.refused(rule, monotonicMs));
    }
  }

  /** Serves the requests that arrived in the meantime. */
  #serveLater(prepared: PreparedRule, lease: Lease, monotonicMs: number): void {
    const { rule } = prepared;
    const { waiters } = lease;
    if (waiters.length === 0) return;
    while (waiters.length > 0 && lease.has(rule, monotonicMs)) {
      const waiter = waiters.shift();
      if (waiter?.keeps === false) lease.use();
      waiter?.resolve(lease.admitted(rule, monotonicMs));
    }
    const isRefused = !this.#isExact(rule) && lease.isRefused(monotonicMs);
    if (isRefused)
      for (const waiter of waiters.splice(0)) waiter.resolve(lease.refused(waiter.rule, monotonicMs));
    if (waiters.length > 0) this.#call(prepared, lease);
  }

  #onTimeout(call: Call): void {
    if (call.settled) return;
    const { lease, sentMs } = call;
    this.#counts.timedOut += 1;
    this.#fail(call);
    if (!this.#isPartLost(`no answer within ${this.#deps.timeoutMs} ms`)) this.#circuit.timedOut(sentMs);
    this.#pause(lease);
  }

  /** Whether only one server of several is lost, which must not affect the counters of the others. */
  #isPartLost(reason: string): boolean {
    const { server, onPartLost } = this.#deps;
    if (server.isDivided !== true || this.#circuit.isOpen) return false;
    const isLost = this.#circuit.answeredWithin(PARTS_MS);
    if (isLost) onPartLost?.(reason);
    return isLost;
  }

  /** Probes another of several servers each time. */
  #probe(): GrantRequest {
    if (this.#deps.server.isDivided !== true) return PROBE_REQUEST;
    this.#probes += 1;
    return numberedProbe(this.#probes);
  }

  #pause(lease: Lease): void {
    if (this.#circuit.isOpen) return;
    lease.failedUntilMs = this.#clock.monotonicMs() + LEASE_PAUSE_MS;
    lease.outUntilMs = lease.failedUntilMs + SETTLE_MS;
    this.#deps.after(LEASE_PAUSE_MS + 1, () => this.#tellDebts());
  }

  #onOutage(reason: string): void {
    for (const call of this.#calls) this.#fail(call);
    this.#deps.onOutage(reason);
  }

  /** Decides without the store for all requests that wait for this counter. */
  #fail(call: Call): void {
    const { lease, prepared } = call;
    this.#settle(call);
    const later = lease.waiters;
    lease.waiters = [];
    const monotonicMs = this.#clock.monotonicMs();
    for (const { rule, subject, nowMs, keeps, resolve } of [...call.waiters, ...later]) {
      const own = rule === prepared.rule ? prepared : this.#table.prepare(rule);
      if (keeps) resolve(this.#without.peek(own, lease, subject, nowMs, monotonicMs));
      else resolve(this.#decideWithout(own, lease, subject, nowMs, monotonicMs));
    }
    this.#debts.note(prepared, lease);
  }

  #settle(call: Call): void {
    call.cancel();
    call.settled = true;
    call.lease.inFlight = false;
    this.#calls.delete(call);
    if (call.isTold) this.#debts.ended();
  }

  #decideWithout(
    prepared: PreparedRule,
    lease: Lease,
    subject: string,
    nowMs: number,
    monotonicMs: number,
  ): LimitDecision {
    this.#counts[prepared.rule.shared?.onFailure ?? 'share'] += 1;
    const decision = this.#without.take(prepared, lease, subject, nowMs, monotonicMs);
    if (decision.admitted) this.#debts.note(prepared, lease);
    return decision;
  }
}

function looked(rule: LimitRule, lease: Lease, reply: GrantReply): LimitDecision {
  const limit = limitOf(rule);
  const remaining = reply.left + lease.hand;
  if (remaining === 0) return refusal(limit, reply.waitMs, reply.resetMs);
  return { admitted: true, limit, remaining: remaining - 1, resetMs: reply.resetMs, retryAfterSecs: 0 };
}
