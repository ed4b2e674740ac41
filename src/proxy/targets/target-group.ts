/**
 * The targets of one revision as one worker balances them: chooses a target for each attempt, and ejects targets that
 * fail. Owns the round-robin state and scratch memory; the states of targets are in memory that all workers share
 * (target-state.ts). A new revision gets a new group, and the targets keep their counts.
 */
import type { CompiledTarget, CompiledTargets, TargetsSlot } from '../../config/types.ts';
import { createChoosers, type TargetChoosers } from './target-choosers.ts';
import { changesAt, totalOf } from './target-memory.ts';
import type { EjectionCause, TargetState } from './target-state.ts';
import type { TargetChoice, TargetView, ZoneChoice } from './target-view.ts';
import { ZonePreference } from './zone-preference.ts';

/** At most this fraction of the targets is ejected for failures at one time. */
const EJECTED_SHARE_MAX = 0.5;

const NONE_TRIED: readonly number[] = [];

export class TargetGroup implements TargetView, TargetsSlot {
  readonly compiled: CompiledTargets;
  isRemoved = false;
  readonly #states: readonly TargetState[];
  readonly #total: Int32Array;
  readonly #changesAt: number;
  readonly #nowMs: () => number;
  readonly #all: TargetChoosers;
  /** undefined: zones make no difference. */
  readonly #zone: ZonePreference | undefined;
  /** The candidates of the current choice, the targets that must not be chosen, and the latest time. */
  #among: TargetChoosers;
  #tried: readonly number[] = NONE_TRIED;
  #chosenAtMs = 0;
  /** Every candidate counts with its whole weight: all are fully in service, or none is. */
  #isWhole = false;
  /** Every target that is not unhealthy is a candidate, because none is in service. */
  #countsEjected = false;
  /** The count of changes for which `#isPristine` was computed. */
  #changes = -1;
  /** Whether all targets were fully in service. */
  #isPristine = false;
  #zoneChoice: ZoneChoice | undefined;

  /**
   * @param states by index of the target
   * @param nowMs the wall clock
   * @param zone the gateway's zone, whose targets are preferred
   * @param before the group that this one replaces: its round-robin continues
   */
  constructor(
    compiled: CompiledTargets,
    states: readonly TargetState[],
    total: Int32Array,
    nowMs: () => number,
    zone?: string,
    before?: TargetGroup,
  ) {
    this.compiled = compiled;
    this.#states = states;
    this.#total = total;
    this.#changesAt = changesAt(total);
    this.#nowMs = nowMs;
    const { list } = compiled;
    const earlier = before === undefined ? undefined : { all: before.#all, zone: before.#zone };
    const places = new Map(before?.compiled.list.map(({ key }, index) => [key, index]));
    const placeOf = (index: number): number => places.get(list[index]?.key ?? '') ?? -1;
    const weights = list.map(({ weight }) => weight);
    this.#all = createChoosers(compiled, weights, earlier?.all, placeOf);
    this.#among = this.#all;
    this.#zone = ZonePreference.of(compiled, zone, earlier?.zone, placeOf);
  }

  get isWhole(): boolean {
    return this.#isWhole && this.#tried === NONE_TRIED;
  }

  get count(): number {
    return this.#states.length;
  }

  /** How the gateway's zone affected the latest choice; undefined when it did not. */
  get zoneChoice(): ZoneChoice | undefined {
    return this.#zoneChoice;
  }

  weight(index: number): number {
    return this.#among.weights[index] as number;
  }

  load(index: number): number {
    return this.stateOf(index).inFlight;
  }

  /** The share of a target. Reads the clock only for targets that are not fully in service. */
  share(index: number): number {
    if (this.#tried !== NONE_TRIED && this.#tried.includes(index)) return 0;
    if (this.#isWhole) return 1;
    const state = this.stateOf(index);
    if (state.isFullyInService) return 1;
    if (this.#countsEjected) return state.isUnhealthy ? 0 : 1;
    if (this.#chosenAtMs === 0) this.#chosenAtMs = this.#nowMs();
    const { ejection, slowStartMs } = this.compiled.balancing;
    return state.share(ejection, slowStartMs, this.#chosenAtMs);
  }

  targetOf(index: number): CompiledTarget {
    return this.compiled.list[index] as CompiledTarget;
  }

  stateOf(index: number): TargetState {
    return this.#states[index] as TargetState;
  }

  /**
   * The target of a request's first attempt. When none is in service, a request may still succeed: targets that
   * are only ejected are then candidates, since an ejection is a guess, and after that all targets.
   * @param key result of `hashKey`; undefined when the request has none, and goes where the fewest requests are
   * under way
   */
  choose(key: number | undefined): TargetChoice {
    return (
      this.#choose(key, NONE_TRIED) ?? { index: 0, why: 'none_in_service', load: 0, other: -1, otherLoad: 0 }
    );
  }

  /**
   * The target of a further attempt: one that was not tried, if possible one that has not failed since its last
   * success.
   * @param tried indexes of targets that have failed the request
   * @returns undefined if all in service have been tried
   */
  chooseOther(tried: readonly number[]): TargetChoice | undefined {
    const avoided = [...tried];
    for (let index = 0; index < this.count; index++) {
      if (!tried.includes(index) && this.stateOf(index).failuresInRow > 0) avoided.push(index);
    }
    const zone = this.#zone;
    if (zone !== undefined) {
      const near = this.#chooseAmong(avoided, zone.choosers);
      this.#zoneChoice = near === undefined ? zone.noneLeft : zone.own;
      if (near !== undefined) return near;
    }
    return this.#chooseAmong(avoided, this.#all) ?? this.#chooseAmong(tried, this.#all);
  }

  /**
   * The target of a further attempt when all in service have been tried, since an ejection is a guess.
   * @param tried indexes of targets that have failed the request
   * @returns an ejected target that health checks do not find unhealthy; undefined if there is none
   */
  chooseEjected(tried: readonly number[]): TargetChoice | undefined {
    this.#countsEjected = true;
    const choice = this.#chooseAmong(tried, this.#all);
    this.#countsEjected = false;
    return choice && { ...choice, why: 'ejected' };
  }

  /**
   * Counts a failed attempt, and ejects the target when it has failed too often.
   * @returns whether it is ejected
   */
  failed(index: number): boolean {
    const state = this.stateOf(index);
    const { ejection } = this.compiled.balancing;
    if (state.failed() < ejection.failuresInRow) return false;
    if (this.eject(index, 'failures_in_a_row')) return true;
    if (!state.isEjected(ejection, this.#nowMs())) state.suspect();
    return false;
  }

  /** Ejects a target, unless half of them are out already. @returns whether it was ejected now */
  eject(index: number, cause: EjectionCause): boolean {
    const { ejection } = this.compiled.balancing;
    const state = this.stateOf(index);
    const nowMs = this.#nowMs();
    const ejectedMax = Math.floor(this.count * EJECTED_SHARE_MAX);
    if (this.#ejectedCount(nowMs) >= ejectedMax || !state.eject(cause, ejection, nowMs)) return false;
    if (this.#ejectedCount(nowMs) <= ejectedMax) return true;
    // Another thread has ejected another target at the same moment.
    state.undoEjection();
    return false;
  }

  /** An independent group in the same state, for explain. */
  copy(): TargetGroup {
    const states = this.#states.map((state) => state.copy());
    return new TargetGroup(this.compiled, states, this.#total.slice(), this.#nowMs, this.#zone?.name, this);
  }

  #choose(key: number | undefined, tried: readonly number[]): TargetChoice | undefined {
    this.#findChanges();
    const zone = this.#zone;
    if (zone !== undefined) {
      const near = zone.hasEnough
        ? this.#chooseInService(key, tried, zone.choosers, zone.isPristine)
        : undefined;
      this.#zoneChoice = near === undefined ? zone.tooFew : zone.own;
      if (near !== undefined) return near;
    }
    const choice = this.#chooseInService(key, tried, this.#all, this.#isPristine);
    if (choice !== undefined) return choice;
    this.#countsEjected = true;
    const ejected = this.#chooseInService(key, tried, this.#all, false);
    this.#countsEjected = false;
    if (ejected !== undefined) return { ...ejected, why: 'ejected' };
    const any = this.#chooseInService(key, tried, this.#all, true);
    return any && { ...any, why: 'none_in_service' };
  }

  /** Without round-robin: the remaining targets have no order. */
  #chooseAmong(tried: readonly number[], among: TargetChoosers): TargetChoice | undefined {
    this.#prepare(tried, among, false);
    return among.least.choose(this);
  }

  #prepare(tried: readonly number[], among: TargetChoosers, isWhole: boolean): void {
    this.#among = among;
    this.#tried = tried;
    this.#chosenAtMs = 0;
    this.#isWhole = isWhole;
  }

  /** Checks the targets only after something has changed. */
  #findChanges(): void {
    const changes = this.#total[this.#changesAt] as number;
    if (changes === this.#changes) return;
    this.#changes = changes;
    this.#isPristine = this.#states.every((state) => state.isFullyInService);
    this.#zone?.look(this.#states);
  }

  #chooseInService(
    key: number | undefined,
    tried: readonly number[],
    among: TargetChoosers,
    isWhole: boolean,
  ): TargetChoice | undefined {
    this.#prepare(tried, among, isWhole);
    if (among.turns !== undefined) return among.turns.choose(this);
    if (among.hash !== undefined && key !== undefined)
      return among.hash.choose(this, key, totalOf(this.#total));
    return among.least.choose(this);
  }

  #ejectedCount(nowMs: number): number {
    const { ejection } = this.compiled.balancing;
    let count = 0;
    for (const state of this.#states) if (state.isEjected(ejection, nowMs)) count += 1;
    return count;
  }
}
