/**
 * What the choosers know about the targets, and what they report about their choice. Targets are identified by
 * index.
 */
import type { CompiledBackend, CompiledTargets } from '../../config/types.ts';

export interface TargetView {
  readonly count: number;
  /** Whether every share is 1. */
  readonly isWhole: boolean;
  weight(index: number): number;
  /** 0: no requests now; 1: its whole weight. */
  share(index: number): number;
  /** Requests under way, over all workers. */
  load(index: number): number;
}

const CHOICE_REASONS = [
  'fewer_requests',
  'only_one',
  'turn',
  'hash',
  'hash_overflow',
  'ejected',
  'none_in_service',
] as const;
type ChoiceReason = (typeof CHOICE_REASONS)[number];

export interface TargetChoice {
  readonly index: number;
  readonly why: ChoiceReason;
  /** Requests under way at the target before this one; with `turn`, 0. */
  readonly load: number;
  /** The other target in the comparison, or the target that the key belongs to; -1 for none. */
  readonly other: number;
  readonly otherLoad: number;
}

/** How the gateway's zone affected a choice. */
export interface ZoneChoice {
  /** The zone of the gateway. */
  readonly zone: string;
  /**
   * `own`: only targets of the zone were candidates. Otherwise all were, because `too_few` are in service or
   * `none_left`.
   */
  readonly why: 'own' | 'too_few' | 'none_left';
}

/** The target that an exchange was sent to last, and why. */
export interface ChosenTarget {
  readonly backend: CompiledBackend;
  readonly choice: TargetChoice;
  readonly targets: CompiledTargets;
  /** undefined when zones made no difference. */
  readonly zone: ZoneChoice | undefined;
  /** Targets that had failed the request before. */
  readonly tried: number;
  /** A field line that sets the client's cookie, or ''. */
  readonly cookieLine: string;
}
