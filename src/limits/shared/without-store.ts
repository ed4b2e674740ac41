/**
 * Decisions while the store is unreachable, according to `on_store_failure`: the node's fair share of the limit,
 * counted in the node's memory; everything; or nothing. Admitted requests are owed to the store.
 */
import type { LeaseTable, PreparedRule } from './lease-table.ts';
import type { Lease } from './lease.ts';
import type { LiveNodes } from './live-nodes.ts';
import { type LimitDecision, limitOf, type LimitRule, type LimitStore, refusal } from '../store.ts';

/** The counters of the node itself. */
export interface NodeLimits extends LimitStore {
  take(rule: LimitRule, subject: string, nowMs: number): LimitDecision;
  peek(rule: LimitRule, subject: string, nowMs: number): LimitDecision;
  charge(rule: LimitRule, subject: string, nowMs: number, count: number): void;
}

export class WithoutStore {
  readonly #local: NodeLimits;
  readonly #table: LeaseTable;
  readonly #nodes: LiveNodes;

  constructor(local: NodeLimits, table: LeaseTable, nodes: LiveNodes) {
    this.#local = local;
    this.#table = table;
    this.#nodes = nodes;
  }

  peek(prepared: PreparedRule, lease: Lease, subject: string, nowMs: number, monotonicMs: number) {
    const { rule } = prepared;
    const { onFailure = 'share' } = rule.shared ?? {};
    if (onFailure !== 'share') return withoutCount(rule, onFailure === 'allow');
    return this.#local.peek(this.#chargedShare(prepared, lease, subject, nowMs, monotonicMs), subject, nowMs);
  }

  take(prepared: PreparedRule, lease: Lease, subject: string, nowMs: number, monotonicMs: number) {
    const { rule } = prepared;
    const { onFailure = 'share' } = rule.shared ?? {};
    const decision =
      onFailure === 'share'
        ? this.#local.take(this.#chargedShare(prepared, lease, subject, nowMs, monotonicMs), subject, nowMs)
        : withoutCount(rule, onFailure === 'allow');
    if (decision.admitted) lease.owe(rule, monotonicMs);
    return decision;
  }

  /** Permits that the store granted before count against the node's share. */
  #chargedShare(
    prepared: PreparedRule,
    lease: Lease,
    subject: string,
    nowMs: number,
    monotonicMs: number,
  ): LimitRule {
    const share = this.#table.shareOf(prepared, this.#nodes);
    const granted = lease.takeUnmirrored(monotonicMs);
    if (granted > 0) this.#local.charge(share, subject, nowMs, granted);
    return share;
  }
}

function withoutCount(rule: LimitRule, admitted: boolean): LimitDecision {
  const limit = limitOf(rule);
  if (!admitted) return refusal(limit, 1000, 1000);
  return { admitted, limit, remaining: limit, resetMs: 0, retryAfterSecs: 0 };
}
