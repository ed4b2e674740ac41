/**
 * The targets of one revision as one worker balances them: chooses a target for each attempt, and ejects those that
 * fail. States are in memory that all workers share (target-state.ts); owned here are the turns of the round-robin and
 * scratch memory. Replaced with the revision; what is counted stays with the targets.
 */
import type { CompiledTarget, CompiledTargets, TargetsSlot } from '../../config/types.ts';
import { HashChoice } from './hash-choice.ts';
import { LeastRequests } from './least-requests.ts';
import { RoundRobin } from './round-robin.ts';
import { changesAt, totalOf } from './target-memory.ts';
import type { EjectionCause, TargetState } from './target-state.ts';
import type { TargetChoice, TargetView } from './target-view.ts';

/** Of these, no more than this fraction is ejected for failures at one time. */
export const EJECTED_SHARE_MAX = 0.5;

const NONE_TRIED: readonly number[] = [];

export class TargetGroup implements TargetView, TargetsSlot {
  readonly compiled: CompiledTargets;
  isRemoved = false;
  readonly #states: readonly TargetState[];
  readonly #total: Int32Array;
  readonly #changesAt: number;
  readonly #nowMs: () => number;
  readonly #least: LeastRequests;
  readonly #turns: RoundRobin | undefined;
  readonly #hash: HashChoice | undefined;
  /** Of the current choice: targets that must not be chosen, and the latest time. */
  #tried: readonly number[] = NONE_TRIED;
  #chosenAtMs = 0;
  /** Every target counts with its whole weight: all are fully in service, or none is at all. */
  #isWhole = false;
  /** Count of changes when `#isCalm` was found out. */
  #changes = -1;
  /** All targets were fully in service. */
  #isCalm = false;
  readonly #weights: readonly number[];

  /**
   * @param states by index of the target
   * @param nowMs the wall clock
   * @param before the group that this one replaces: its round-robin continues
   */
  constructor(
    compiled: CompiledTargets,
    states: readonly TargetState[],
    total: Int32Array,
    nowMs: () => number,
    before?: TargetGroup,
  ) {
    this.compiled = compiled;
    this.#states = states;
    this.#total = total;
    this.#changesAt = changesAt(total);
    this.#nowMs = nowMs;
    const { list, balancing } = compiled;
    this.#weights = list.map(({ weight }) => weight);
    this.#least = new LeastRequests(this.#weights);
    this.#turns = balancing.algorithm === 'round_robin' ? this.#turnsAfter(before) : undefined;
    this.#hash =
      balancing.algorithm === 'hash'
        ? new HashChoice(
            list.map(({ backend }) => `${backend.host}:${backend.port}`),
            this.#weights,
          )
        : undefined;
  }

  get isWhole(): boolean {
    return this.#isWhole && this.#tried === NONE_TRIED;
  }

  get count(): number {
    return this.#states.length;
  }

  weight(index: number): number {
    return this.#weights[index] as number;
  }

  load(index: number): number {
    return this.stateOf(index).inFlight;
  }

  /** Reads the clock only for targets that are not fully in service. */
  share(index: number): number {
    if (this.#tried !== NONE_TRIED && this.#tried.includes(index)) return 0;
    if (this.#isWhole) return 1;
    const state = this.stateOf(index);
    if (state.isFullyInService) return 1;
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
   * The target of a request's first attempt. If none is in service, all are treated as if they were: a request may
   * still succeed.
   * @param key of `hashKey`; undefined: the request has none, and goes where the fewest requests are under way
   */
  choose(key: number | undefined): TargetChoice {
    return (
      this.#choose(key, NONE_TRIED) ?? { index: 0, why: 'none_in_service', load: 0, other: -1, otherLoad: 0 }
    );
  }

  /**
   * The target of a further attempt: one that was not tried, if possible one that has not failed since its last success.
   * @param tried indexes of targets that have failed the request
   * @returns undefined if all in service have been tried
   */
  chooseOther(tried: readonly number[]): TargetChoice | undefined {
    const avoided = [...tried];
    for (let index = 0; index < this.count; index++) {
      if (!tried.includes(index) && this.stateOf(index).failuresInRow > 0) avoided.push(index);
    }
    return this.#chooseAmong(avoided) ?? this.#chooseAmong(tried);
  }

  /** An attempt has failed: counts it, and ejects the target if that was one too many. @returns whether it is ejected */
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
    return new TargetGroup(this.compiled, states, this.#total.slice(), this.#nowMs, this);
  }

  #turnsAfter(before: TargetGroup | undefined): RoundRobin {
    const turns = new RoundRobin(this.#weights);
    const earlier = before === undefined ? undefined : before.#turns;
    if (before === undefined || earlier === undefined) return turns;
    const places = new Map(before.compiled.list.map(({ key }, index) => [key, index]));
    turns.continue(earlier, (index) => places.get(this.targetOf(index).key) ?? -1);
    return turns;
  }

  #choose(key: number | undefined, tried: readonly number[]): TargetChoice | undefined {
    const choice = this.#chooseInService(key, tried, false);
    if (choice !== undefined) return choice;
    const any = this.#chooseInService(key, tried, true);
    return any && { ...any, why: 'none_in_service' };
  }

  /** Not in turns: the targets that are left have no order. */
  #chooseAmong(tried: readonly number[]): TargetChoice | undefined {
    this.#prepare(tried, false);
    return this.#least.choose(this);
  }

  #prepare(tried: readonly number[], isDesperate: boolean): void {
    this.#tried = tried;
    this.#chosenAtMs = 0;
    this.#isWhole = isDesperate || this.#findCalm();
  }

  /** Looks at the targets only after something has changed. */
  #findCalm(): boolean {
    const changes = this.#total[this.#changesAt] as number;
    if (changes === this.#changes) return this.#isCalm;
    this.#changes = changes;
    this.#isCalm = this.#states.every((state) => state.isFullyInService);
    return this.#isCalm;
  }

  #chooseInService(
    key: number | undefined,
    tried: readonly number[],
    isDesperate: boolean,
  ): TargetChoice | undefined {
    this.#prepare(tried, isDesperate);
    if (this.#turns !== undefined) return this.#turns.choose(this);
    if (this.#hash !== undefined && key !== undefined)
      return this.#hash.choose(this, key, totalOf(this.#total));
    return this.#least.choose(this);
  }

  #ejectedCount(nowMs: number): number {
    const { ejection } = this.compiled.balancing;
    let count = 0;
    for (const state of this.#states) if (state.isEjected(ejection, nowMs)) count += 1;
    return count;
  }
}
