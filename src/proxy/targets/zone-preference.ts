/**
 * Prefers targets in the gateway's own zone, as long as at least half of their weight is in service: requests that
 * stay in a zone are faster and often cheaper. Otherwise all targets are candidates by their weights, because the
 * few remaining ones would be overloaded. Owns the states found at the last check.
 */
import type { CompiledTargets } from '../../config/types.ts';
import { createChoosers, type TargetChoosers } from './target-choosers.ts';
import type { TargetState } from './target-state.ts';
import type { ZoneChoice } from './target-view.ts';

/** Part of the zone's weight that must be in service. */
const ZONE_SHARE_MIN = 0.5;

export class ZonePreference {
  readonly name: string;
  readonly choosers: TargetChoosers;
  readonly own: ZoneChoice;
  readonly tooFew: ZoneChoice;
  readonly noneLeft: ZoneChoice;
  readonly #weight: number;
  #isPristine = false;
  #hasEnough = false;

  /** undefined when no target or every target is in the zone. */
  static of(
    compiled: CompiledTargets,
    zone: string | undefined,
    before: ZonePreference | undefined,
    placeOf: (index: number) => number,
  ): ZonePreference | undefined {
    if (zone === undefined) return undefined;
    const weights = compiled.list.map((target) => (target.zone === zone ? target.weight : 0));
    const isPart = compiled.list.some(({ weight }, index) => weight > (weights[index] as number));
    if (!isPart || weights.every((weight) => weight === 0)) return undefined;
    return new ZonePreference(zone, createChoosers(compiled, weights, before?.choosers, placeOf));
  }

  private constructor(name: string, choosers: TargetChoosers) {
    this.name = name;
    this.choosers = choosers;
    this.own = { zone: name, why: 'own' };
    this.tooFew = { zone: name, why: 'too_few' };
    this.noneLeft = { zone: name, why: 'none_left' };
    this.#weight = choosers.weights.reduce((sum, weight) => sum + weight, 0);
  }

  /** Whether enough of its targets were in service to send requests only to them. */
  get hasEnough(): boolean {
    return this.#hasEnough;
  }

  /** Whether all of its targets were fully in service. */
  get isPristine(): boolean {
    return this.#isPristine;
  }

  /** @param states of all targets, by index */
  look(states: readonly TargetState[]): void {
    let inService = 0;
    this.#isPristine = true;
    this.choosers.weights.forEach((weight, index) => {
      const state = states[index] as TargetState;
      if (weight === 0) return;
      if (!state.isFullyInService) this.#isPristine = false;
      if (state.isReliable) inService += weight;
    });
    this.#hasEnough = inService >= this.#weight * ZONE_SHARE_MIN;
  }
}
