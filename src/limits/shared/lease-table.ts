/**
 * The counters that one thread knows: leases by rule and subject. Bounded: when the table is full, it evicts the oldest
 * lease of the rule with the most leases, so that a flood of callers of one rule does not affect another. The lease's
 * remaining permits and debts are lost with it (the store counts the permits as used).
 *
 * Rules change with the configuration, but their identity stays (store.ts), so a lease survives other changes.
 */
import { hash } from 'node:crypto';
import { Lease } from './lease.ts';
import { fairShare, type LiveNodes } from './live-nodes.ts';
import type { LimitRule } from '../store.ts';

/** How many leases are checked for one that can be evicted. */
const EVICTION_TRIES = 16;
/** Hexadecimal digits of a counter's name in the store: 128 bits. */
const KEY_LENGTH = 32;

/** A longer subject is kept as a hash: clients choose subjects, and a header value may have many kilobytes. */
const SUBJECT_CHARS_MAX = 128;

/** The leases of one identity; the table's `#groups` contains the groups with leases. */
interface Group {
  readonly identity: string;
  /** By the name of the subject (`nameOf`). */
  readonly leases: Map<string, Lease>;
}

/** A rule as this thread has prepared it. */
export interface PreparedRule {
  readonly rule: LimitRule;
  group: Group;
  /** The node's fair share of the rule, and the number of nodes that it was computed for. */
  share: LimitRule | undefined;
  shareCount: number;
  shareRank: number;
}

export class LeaseTable {
  readonly #max: number;
  /** Keyed by object, so that rules of a replaced configuration are collected with it. */
  readonly #prepared = new WeakMap<LimitRule, PreparedRule>();
  readonly #groups = new Map<string, Group>();
  #last: PreparedRule | undefined;
  #size = 0;
  /** The rule with the most leases, as far as is known; searched for again after a number of evictions. */
  #greatest: Group | undefined;
  #looksIn = 0;

  /** @param max limit of leases; about a kilobyte each */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#size;
  }

  prepare(rule: LimitRule): PreparedRule {
    if (this.#last?.rule === rule) return this.#last;
    let prepared = this.#prepared.get(rule);
    if (prepared === undefined) {
      const group = this.#groupOf(`${rule.algorithm} ${rule.windowMs} ${rule.id}`);
      prepared = { rule, group, share: undefined, shareCount: 0, shareRank: 0 };
      this.#prepared.set(rule, prepared);
    }
    this.#last = prepared;
    return prepared;
  }

  find(prepared: PreparedRule, subject: string, monotonicMs: number): Lease {
    // Several rules have the same identity: another group may have replaced one that lost its last lease.
    if (prepared.group.leases.size === 0) prepared.group = this.#groupOf(prepared.group.identity);
    const { group, rule } = prepared;
    const name = nameOf(subject);
    const known = group.leases.get(name);
    if (known !== undefined) return known;
    if (this.#size >= this.#max) this.#evict();
    if (group.leases.size === 0) this.#groups.set(group.identity, group);
    const lease = new Lease(keyOf(group.identity, subject), rule, monotonicMs);
    // A copy: the subject may be a slice of a whole request head, which would stay in memory.
    group.leases.set(copyOf(name), lease);
    this.#size += 1;
    if (group.leases.size > (this.#greatest?.leases.size ?? 0)) this.#greatest = group;
    return lease;
  }

  shareOf(prepared: PreparedRule, nodes: LiveNodes): LimitRule {
    const { count, rank } = nodes;
    if (prepared.share === undefined || prepared.shareCount !== count || prepared.shareRank !== rank) {
      prepared.share = fairShare(prepared.rule, { count, rank });
      prepared.shareCount = count;
      prepared.shareRank = rank;
    }
    return prepared.share;
  }

  #groupOf(identity: string): Group {
    return this.#groups.get(identity) ?? { identity, leases: new Map() };
  }

  #evict(): void {
    if (--this.#looksIn < 0) {
      for (const group of this.#groups.values()) {
        if (group.leases.size > (this.#greatest?.leases.size ?? 0)) this.#greatest = group;
      }
      // As often as is cheap relative to the evictions.
      this.#looksIn = this.#groups.size >> 3;
    }
    if (this.#greatest !== undefined && this.#evictFrom(this.#greatest)) return;
    for (const group of this.#groups.values()) if (this.#evictFrom(group)) return;
  }

  /** False when all leases that were checked wait for the store: they must stay. */
  #evictFrom(group: Group): boolean {
    let tries = 0;
    for (const [name, lease] of group.leases) {
      if (++tries > EVICTION_TRIES) return false;
      if (lease.inFlight || lease.waiters.length > 0) continue;
      group.leases.delete(name);
      this.#size -= 1;
      if (group.leases.size === 0) this.#groups.delete(group.identity);
      return true;
    }
    return false;
  }
}

/** The name of a subject in the table. No subject begins with NUL. */
function nameOf(subject: string): string {
  return subject.length <= SUBJECT_CHARS_MAX ? subject : `\0${digestOf(subject)}`;
}

/** Also of text beyond latin1, such as claims. */
function copyOf(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}

/** The same on all nodes. Hashed, because subjects may be long and may be secrets of clients. */
function keyOf(identity: string, subject: string): string {
  return digestOf(`${identity}\0${subject}`).slice(0, KEY_LENGTH);
}

function digestOf(text: string): string {
  return hash('sha256', text, 'hex');
}
