/**
 * A document of another gateway, read so that no value is ignored silently: a translation takes values through these
 * nodes, which record each taken value. At the end, values that were neither taken nor reported are reported. Places
 * are JSON pointers (RFC 6901).
 *
 * Owns the taken values and the findings. Findings contain no secrets.
 */
import { isObject } from '../../lib/is-object.ts';
import { escapeToken } from '../../lib/text/json-pointer.ts';

/**
 * - `lost`: the value has no effect here.
 * - `changed`: it was imported, and works differently.
 * - `no_effect`: it would not change the behaviour of a gateway: ids, times, defaults.
 */
export type FindingKind = 'lost' | 'changed' | 'no_effect';

export interface Finding {
  readonly kind: FindingKind;
  /** Pointer to the value, or to the node that contains all values meant. */
  readonly pointer: string;
  /** The same place for people: with names of items instead of numbers. */
  readonly place: string;
  readonly reason: string;
  /** The closest feature of this gateway. */
  readonly nearest?: string;
}

export type SourceObject = Readonly<Record<string, unknown>>;

/** Placeholders that other tools replace before the document is used. */
const UNFILLED = /\$\{\{|\{\{.*\}\}|^\{vault:\/\//;

class SourceLedger {
  readonly #settled = new Set<string>();
  readonly #opened = new Set<string>();
  readonly #unread = new Set<string>();
  readonly #findings = new Map<string, Finding>();

  settle(pointer: string): void {
    this.#settled.add(pointer);
  }

  isSettled(pointer: string): boolean {
    return this.#settled.has(pointer);
  }

  open(pointer: string): void {
    this.#opened.add(pointer);
  }

  /** Records that a value could not be read: its record may be wider without it. */
  markUnread(pointer: string): void {
    for (let at = pointer; !this.#unread.has(at); at = at.slice(0, Math.max(0, at.lastIndexOf('/'))))
      this.#unread.add(at);
  }

  /** Whether a value at or below the place could not be read. */
  hasUnread(pointer: string): boolean {
    return this.#unread.has(pointer);
  }

  /** Adds a finding; ignores an equal one. */
  add(finding: Finding): void {
    this.#findings.set(`${finding.kind} ${finding.pointer} ${finding.reason}`, finding);
    if (finding.kind !== 'changed') this.#settled.add(finding.pointer);
  }

  /** Reports the values that were neither taken nor reported, and returns all findings. */
  conclude(root: SourceNode): readonly Finding[] {
    this.#sweep(root);
    return [...this.#findings.values()];
  }

  #sweep(node: SourceNode): void {
    const { pointer, value } = node;
    if (this.#settled.has(pointer) || value === null || value === undefined) return;
    const members = node.members();
    if (members.length === 0 && typeof value === 'object') return;
    if (this.#opened.has(pointer)) for (const member of members) this.#sweep(member);
    else node.lost('is not known to this import');
  }
}

export class SourceNode {
  readonly value: unknown;
  readonly pointer: string;
  readonly place: string;
  readonly ledger: SourceLedger;

  constructor(value: unknown, pointer: string, place: string, ledger: SourceLedger) {
    this.value = value;
    this.pointer = pointer;
    this.place = place;
    this.ledger = ledger;
  }

  /** Whether the member exists and has content. */
  has(name: string): boolean {
    const value = this.#raw(name);
    return value !== undefined && value !== null;
  }

  /** Whether the member is a list or an object without content. */
  isEmpty(name: string): boolean {
    const value = this.#raw(name);
    return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  }

  /** The names of the members of an object. */
  get names(): readonly string[] {
    return isObject(this.value) ? Object.keys(this.value) : [];
  }

  /** A member of an object, opened: the translation must take its members. */
  child(name: string): SourceNode | undefined {
    if (!this.has(name)) return undefined;
    const node = this.#at(name);
    if (!isObject(node.value)) {
      node.#unread('is not an object');
      return undefined;
    }
    this.ledger.open(node.pointer);
    return node;
  }

  /** The members of an object that is a map of objects, opened. */
  entries(name: string): (readonly [string, SourceNode])[] {
    const node = this.child(name);
    if (node === undefined) return [];
    return node.names.flatMap((key) => {
      const entry = node.child(key);
      return entry === undefined ? [] : [[key, entry] as const];
    });
  }

  /** A list of objects, opened. Other items are reported. */
  items(name: string): SourceNode[] {
    if (!this.has(name)) return [];
    const list = this.#at(name);
    if (!Array.isArray(list.value)) {
      list.#unread('is not a list');
      return [];
    }
    this.ledger.open(list.pointer);
    return list.members().flatMap((item) => {
      if (item.value === null) return [];
      if (!isObject(item.value)) {
        item.#unread('is not an object');
        return [];
      }
      this.ledger.open(item.pointer);
      return [item];
    });
  }

  /** Takes a text, or a number as text. */
  text(name: string): string | undefined {
    return this.#take(name, 'is not a text', (value) => {
      if (typeof value === 'number') return String(value);
      if (typeof value !== 'string') return undefined;
      return value;
    });
  }

  number(name: string): number | undefined {
    return this.#take(name, 'is not a number', (value) => {
      const given = typeof value === 'string' && /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : value;
      return typeof given === 'number' && Number.isFinite(given) ? given : undefined;
    });
  }

  boolean(name: string): boolean | undefined {
    return this.#take(name, 'is not true or false', (value) =>
      typeof value === 'boolean' ? value : undefined,
    );
  }

  /** Takes a list of texts, or one text; other items are reported. */
  texts(name: string): TextItem[] | undefined {
    if (!this.has(name)) return undefined;
    const list = this.#at(name);
    if (typeof list.value === 'string' || typeof list.value === 'number') {
      const text = this.text(name);
      return text === undefined ? [] : [{ text, node: list }];
    }
    if (!Array.isArray(list.value)) {
      list.#unread('is not a list of texts');
      return undefined;
    }
    this.ledger.open(list.pointer);
    return list.members().flatMap((node) => {
      const { value } = node;
      if (typeof value !== 'string' && typeof value !== 'number') {
        if (value !== null) node.#unread('is not a text');
        return [];
      }
      const text = String(value);
      if (isUnfilled(text)) {
        node.#unread(UNFILLED_REASON, UNFILLED_NEAREST);
        return [];
      }
      this.ledger.settle(node.pointer);
      return [{ text, node }];
    });
  }

  /** Reports that a member, or this node, has no effect. */
  lost(reason: string, nearest?: string, name?: string): void {
    this.#find('lost', reason, nearest, name);
  }

  /** Whether a value at or below this node could not be read. */
  get hasUnread(): boolean {
    return this.ledger.hasUnread(this.pointer);
  }

  #unread(reason: string, nearest?: string): void {
    this.lost(reason, nearest);
    this.ledger.markUnread(this.pointer);
  }

  changed(reason: string, nearest?: string, name?: string): void {
    this.#find('changed', reason, nearest, name);
  }

  noEffect(reason: string, ...names: readonly string[]): void {
    for (const name of names) if (this.has(name)) this.#find('no_effect', reason, undefined, name);
  }

  /** Members or items as nodes that are not opened. */
  members(): SourceNode[] {
    const { value } = this;
    if (Array.isArray(value)) return value.map((_item, index) => this.#at(String(index)));
    return isObject(value) ? Object.keys(value).map((name) => this.#at(name)) : [];
  }

  #take<T>(name: string, problem: string, read: (value: unknown) => T | undefined): T | undefined {
    if (!this.has(name)) return undefined;
    const raw = this.#raw(name);
    const node = this.#at(name);
    if (typeof raw === 'string' && isUnfilled(raw)) {
      node.#unread(UNFILLED_REASON, UNFILLED_NEAREST);
      return undefined;
    }
    const value = read(raw);
    if (value === undefined) node.#unread(problem);
    else this.ledger.settle(node.pointer);
    return value;
  }

  #find(kind: FindingKind, reason: string, nearest: string | undefined, name: string | undefined): void {
    const { pointer, place } = name === undefined ? this : this.#at(name);
    this.ledger.add({ kind, pointer, place, reason, ...(nearest !== undefined && { nearest }) });
  }

  #raw(name: string): unknown {
    const { value } = this;
    if (Array.isArray(value)) return value[Number(name)];
    return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }

  #at(name: string): SourceNode {
    const value = this.#raw(name);
    const shown = Array.isArray(this.value) ? `[${nameOf(value) ?? name}]` : `.${name}`;
    const place = this.place === '' ? shown.replace(/^\./, '') : this.place + shown;
    return new SourceNode(value, `${this.pointer}/${escapeToken(name)}`, place, this.ledger);
  }
}

/** One text of a list, with its place. */
export interface TextItem {
  readonly text: string;
  readonly node: SourceNode;
}

const UNFILLED_REASON = 'is filled in by another tool or a vault';
const UNFILLED_NEAREST = 'fill it in before the import';

export function openSource(value: SourceObject): SourceNode {
  const ledger = new SourceLedger();
  ledger.open('');
  return new SourceNode(value, '', '', ledger);
}

function isUnfilled(text: string): boolean {
  return UNFILLED.test(text);
}

/** A name for an item from members that are not secret; keys are not shown. */
function nameOf(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  for (const member of ['name', 'username', 'custom_id', 'target', 'url', 'group']) {
    const name = value[member];
    if (typeof name === 'string' && name !== '' && name.length <= 60) return name;
  }
  return undefined;
}
