/**
 * The target of an exchange's current attempt, for a revision with several targets. The revision's group chooses it.
 * The target counts the attempt while it lasts, and learns how it ended. Owns the list of targets that have failed the
 * exchange, so that a further attempt goes to another one.
 */
import type { CompiledBackend } from '../../config/types.ts';
import type { ExchangeView } from '../interfaces/exchange-view.ts';
import type { Route } from '../interfaces/route.ts';
import { isFailedStatus } from '../resilience/failed-status.ts';
import { isNeutral, type UpstreamFailure } from '../upstream/upstream-failure.ts';
import { requestKey } from './hash-source.ts';
import type { TargetGroup } from './target-group.ts';
import type { ChosenTarget, TargetChoice } from './target-view.ts';

/** The target of a request's first attempt at the revision. */
export function chooseTarget(exchange: ExchangeView, route: Route, group: TargetGroup): ChosenTarget {
  const { compiled } = group;
  const { hash } = compiled.balancing;
  const from = hash === undefined ? undefined : requestKey(exchange, route, hash);
  const choice = group.choose(from?.key);
  return chosen(group, choice, 0, from?.cookieLine ?? '');
}

function chosen(group: TargetGroup, choice: TargetChoice, tried: number, cookieLine: string): ChosenTarget {
  const { backend } = group.targetOf(choice.index);
  return { backend, choice, targets: group.compiled, zone: group.zoneChoice, tried, cookieLine };
}

export class AimedTarget {
  readonly group: TargetGroup;
  /** undefined before the first failure. */
  #tried: number[] | undefined;
  #target: ChosenTarget;
  #isHeld = false;
  #isAnswered = false;

  constructor(exchange: ExchangeView, route: Route, group: TargetGroup) {
    this.group = group;
    this.#target = chooseTarget(exchange, route, group);
    this.#hold();
  }

  get target(): ChosenTarget {
    return this.#target;
  }

  get backend(): CompiledBackend {
    return this.#target.backend;
  }

  /** Whether a target in service has not been tried. */
  get hasOther(): boolean {
    return this.group.chooseOther([...(this.#tried ?? []), this.#target.choice.index]) !== undefined;
  }

  /**
   * Moves to a target that has not been tried; returns false if there is none. The current one must have been
   * released.
   */
  moveOn(): boolean {
    const tried = (this.#tried ??= []);
    tried.push(this.#target.choice.index);
    const choice = this.group.chooseOther(tried);
    if (choice === undefined) return false;
    this.#target = chosen(this.group, choice, tried.length, this.#target.cookieLine);
    this.#hold();
    return true;
  }

  /**
   * For a further attempt when all targets in service have been tried: moves to one that is only ejected, or
   * else allows any target again, including the current one.
   */
  startOver(exchange: ExchangeView, route: Route): void {
    const tried = this.#tried ?? [];
    const { cookieLine } = this.#target;
    const ejected = this.group.chooseEjected(tried);
    if (ejected !== undefined) {
      this.#target = chosen(this.group, ejected, tried.length, cookieLine);
    } else {
      this.#tried = undefined;
      this.#target = { ...chooseTarget(exchange, route, this.group), cookieLine };
    }
    this.#hold();
  }

  /** The head of a final response has arrived. */
  answered(status: number): void {
    if (isFailedStatus(status) && this.group.compiled.balancing.ejection.counts5xx) this.#failed();
    else this.#isAnswered = true;
  }

  failed(failure: UpstreamFailure): void {
    this.#isAnswered = false;
    if (!isNeutral(failure)) this.#failed();
  }

  /** Ends the attempt; may be called again. */
  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    const state = this.group.stateOf(this.#target.choice.index);
    state.ended();
    if (this.#isAnswered) state.succeeded();
  }

  #hold(): void {
    this.#isHeld = true;
    this.#isAnswered = false;
    this.group.stateOf(this.#target.choice.index).begun();
  }

  #failed(): void {
    if (this.#isHeld) this.group.failed(this.#target.choice.index);
  }
}
