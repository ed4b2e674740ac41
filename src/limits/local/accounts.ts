/**
 * How much of the counter memory each limit uses: an account for each limit (or each group of small ones, see
 * `LimitRule.account`), so that no limit takes memory from another that uses less.
 *
 * An account is found by the hash of its name and keeps its place while it has blocks. When all possible places are
 * taken, the limit shares account 0. Numbers are changed under the lock of the head (free-blocks.ts) or are atomic.
 */
import { ACCOUNT_CELLS } from './memory.ts';
import type { Table } from './counter-views.ts';

/** Words of an account. */
const HASH = 0;
const HASH2 = 1;
/** Number of its blocks. */
const HELD = 2;
/** Counters that were evicted while they were in use. */
const EVICTED = 3;
/** An index of `LEVELS`. */
const LEVEL = 4;
const NAME_LENGTH = 5;
const NAME = 6;
/** Stored characters of a name, in Latin-1, four per word. */
const NAME_MAX = 4 * (2 * ACCOUNT_CELLS - NAME);

/** Words of the head: the number of accounts, and the account known to have the most blocks. */
const COUNT = 36;
const GREATEST = 37;
/** Evicted counters that were in use, for each level. */
const EVICTIONS = 48;

/** The levels that set limits, as the names of accounts begin; the last entry stands for all others. */
const LEVELS = [
  'endpoint',
  'revision',
  'version',
  'app',
  'global',
  'keys',
  'ip',
  'auth_failures',
  'other',
] as const;
export type Level = (typeof LEVELS)[number];

/** Places where an account can be, counted from that of its hash. */
const PROBES = 32;

export interface AccountUse {
  readonly name: string;
  readonly blocks: number;
  readonly evictions: number;
}

function wordOf(table: Pick<Table, 'accountsAt'>, account: number): number {
  return 2 * (table.accountsAt + account * ACCOUNT_CELLS);
}

/** The account of the name, created when it does not exist. The caller holds the lock of the head. */
export function openAccount(table: Table, name: string, hash: number, hash2: number): number {
  const { words, accountMask } = table;
  let free = 0;
  for (let probe = 0; probe < PROBES; probe++) {
    const account = (hash + probe) & accountMask;
    if (account === 0) continue;
    const at = wordOf(table, account);
    const isNamed = words[at + NAME_LENGTH] !== 0;
    if (isNamed && words[at + HASH] === hash && words[at + HASH2] === hash2) return account;
    if (free === 0 && (!isNamed || words[at + HELD] === 0)) free = account;
    if (!isNamed) break;
  }
  if (free === 0) return 0;
  const at = wordOf(table, free);
  if (words[at + NAME_LENGTH] === 0) words[COUNT] = words[COUNT]! + 1;
  words[at + HASH] = hash;
  words[at + HASH2] = hash2;
  words[at + EVICTED] = 0;
  words[at + LEVEL] = levelOf(name);
  writeName(words, at, name);
  return free;
}

function levelOf(name: string): number {
  const level = LEVELS.findIndex((known) => name.startsWith(known));
  return level < 0 ? LEVELS.length - 1 : level;
}

function writeName(words: Int32Array, at: number, name: string): void {
  const length = Math.min(NAME_MAX, name.length);
  for (let index = 0; index < length; index += 4) {
    let word = 0;
    for (let shift = 0; shift < 4 && index + shift < length; shift++) {
      word |= (name.charCodeAt(index + shift) & 255) << (8 * shift);
    }
    words[at + NAME + (index >> 2)] = word;
  }
  words[at + NAME_LENGTH] = Math.max(1, length);
}

function readName(words: Int32Array, at: number): string {
  let name = '';
  for (let index = 0; index < words[at + NAME_LENGTH]!; index++) {
    name += String.fromCharCode((words[at + NAME + (index >> 2)]! >>> (8 * (index & 3))) & 255);
  }
  return name;
}

/** Adds to the blocks of the account. The caller holds the lock of the head. */
export function holdBlocks(table: Table, account: number, blocks: number): void {
  const { words } = table;
  const at = wordOf(table, account) + HELD;
  const held = words[at]! + blocks;
  words[at] = held;
  if (held > words[wordOf(table, words[GREATEST]!) + HELD]!) words[GREATEST] = account;
}

/** The blocks of the largest account, as far as is known. */
export function greatestHeld(table: Table): number {
  return heldBy(table, table.words[GREATEST]!);
}

export function heldBy(table: Table, account: number): number {
  return table.words[wordOf(table, account) + HELD]!;
}

/** Searches for the largest account, which is otherwise updated only when an account grows. */
export function findGreatest(table: Table): void {
  const { words } = table;
  let greatest = words[GREATEST]!;
  for (let account = 0; account <= table.accountMask; account++) {
    if (heldBy(table, account) > heldBy(table, greatest)) greatest = account;
  }
  words[GREATEST] = greatest;
}

/** Records that the account has lost a counter in use. */
export function countEviction({ words, accountsAt }: Table, account: number): void {
  const at = wordOf({ accountsAt }, account);
  Atomics.add(words, at + EVICTED, 1);
  Atomics.add(words, EVICTIONS + (account === 0 ? LEVELS.length - 1 : words[at + LEVEL]!), 1);
}

/** The number of evicted counters in use, by the level of their limits. */
export function evictionsIn({ words }: Pick<Table, 'words'>): ReadonlyMap<Level, number> {
  return new Map(LEVELS.map((level, index) => [level, words[EVICTIONS + index]! >>> 0]));
}

/** All accounts that have blocks or have lost counters. */
export function accountsIn(table: Pick<Table, 'words' | 'accountsAt' | 'accountMask'>): AccountUse[] {
  const { words } = table;
  const uses: AccountUse[] = [];
  let left = words[COUNT]!;
  for (let account = 0; account <= table.accountMask && left >= 0; account++) {
    const at = wordOf(table, account);
    if (account > 0 && words[at + NAME_LENGTH] === 0) continue;
    left--;
    const use = { name: readName(words, at), blocks: words[at + HELD]!, evictions: words[at + EVICTED]! };
    if (use.blocks > 0 || use.evictions > 0) uses.push(use);
  }
  return uses;
}
