/**
 * Scanner of field lines (RFC 9112 section 5), shared by request heads, response heads and trailer sections. Owns the
 * positions of the last scanned section; an instance is reused for message after message and keeps no objects per
 * field. Refused: obs-fold, white space before the colon, empty names, bare CR or LF, NUL and all other control
 * characters, more than `maxHeaders` fields.
 *
 * A client that reuses a connection sends the same fields again and again. A scanned section therefore stays valid
 * until another one is scanned: when the next message has the same bytes (`holds`), nothing is scanned.
 *
 * Does not know start lines, nor the meaning of fields beyond their kind.
 */
import { isBlank, TOKEN } from '../characters.ts';
import { connectionOptions, type ConnectionOptions } from '../fields/connection-options.ts';
import { headError, type HeadError } from './head-error.ts';
import type { HeadTemplateCache } from './head-template-cache.ts';
import { classifyName, HASH_SEED, HeaderKind, hashStep } from './header-kind.ts';
import { latin1Text, ownText, scratchBytes } from '../latin1.ts';

const INITIAL_FIELDS = 16;
/** A longer section is not kept. */
const KEPT_BYTES_MAX = 1024;
const KEPT_BYTES_STEP = 128;
/** After this many sections without a repetition, only every few sections are cached, as a trial. */
const MISSES_MAX = 8;
const TRIED_EVERY = 16;
const CR = 0x0d;
const LF = 0x0a;
const COLON = 0x3a;
const SP = 0x20;
const HTAB = 0x09;
const DEL = 0x7f;
const COOKIE = 'cookie';
const COOKIE_HASH = hashOf(COOKIE);
const SET_COOKIE = 'set-cookie';
const SET_COOKIE_HASH = hashOf(SET_COOKIE);

/** `Template`: the cached form of heads of other messages that a reader has made from the fields. */
export class FieldSection<Template = unknown> {
  /** Number of fields. */
  count = 0;
  /** Whether the fields are those of the previous message, so that data derived from them is still valid. */
  isRepeated = false;
  /** Dropped together with the fields. */
  templates: HeadTemplateCache<Template> | undefined;
  /** The text of the scanned fields; names and values are slices of it. */
  protected text = '';
  /** Four positions per field: start and end of its name, start and end of its value. */
  #bounds = new Int32Array(INITIAL_FIELDS * 4);
  #kinds = new Uint8Array(INITIAL_FIELDS);
  /** Index of the first field of each kind; valid only where `#seen` has the kind's bit. */
  readonly #first = new Int32Array(32);
  #seen = 0;
  #repeated = 0;
  /** A set, because a client may nominate thousands of names, and each field is looked up. */
  #nominated: ReadonlySet<string> | undefined;
  /** Sections since the last repeated one. */
  #misses = 0;
  #authorization: string | undefined;
  #origin: string | undefined;
  /** Whether there may be a field `Cookie`: a hash says so. */
  #mayHaveCookies = false;
  /** The same for `Set-Cookie`. */
  #maySetCookies = false;
  /** The bytes of a section that was kept; the memory is reused. */
  #kept: Buffer | undefined;
  /** 0 when no section is kept. */
  #keptLength = 0;

  /** Name of field `index` as it was sent. */
  name(index: number): string {
    return this.text.slice(this.#bounds[index * 4], this.#bounds[index * 4 + 1]);
  }

  /** Value of field `index` without surrounding white space, otherwise as it was sent (latin1). */
  value(index: number): string {
    return this.text.slice(this.#bounds[index * 4 + 2], this.#bounds[index * 4 + 3]);
  }

  /** Kind of field `index`. */
  kind(index: number): HeaderKind {
    return this.#kinds[index] as HeaderKind;
  }

  /** Index of the first field of `kind`, -1 when there is none. Constant time; not for `ordinary`. */
  first(kind: HeaderKind): number {
    return (this.#seen & (1 << kind)) === 0 ? -1 : (this.#first[kind] as number);
  }

  /** Whether more than one field is of `kind`. */
  repeated(kind: HeaderKind): boolean {
    return (this.#repeated & (1 << kind)) !== 0;
  }

  /**
   * Value of the first field of `kind`. For the kinds that nearly every request is asked for, repeated fields return
   * the same string object each time.
   */
  valueOf(kind: HeaderKind): string | undefined {
    const index = this.first(kind);
    if (index < 0) return undefined;
    if (!this.isRepeated) return this.value(index);
    // A copy: comparing a slice is several times slower.
    if (kind === HeaderKind.authorization) return (this.#authorization ??= ownText(this.value(index)));
    if (kind === HeaderKind.origin) return (this.#origin ??= ownText(this.value(index)));
    return this.value(index);
  }

  /** Value of the first field with this lower-case name. */
  get(lowerName: string): string | undefined {
    const index = this.#find(lowerName, 0);
    return index < 0 ? undefined : this.value(index);
  }

  /** Values of all fields with this lower-case name, joined by ", " (RFC 9110 section 5.3). */
  combined(lowerName: string): string | undefined {
    let index = this.#find(lowerName, 0);
    if (index < 0) return undefined;
    let value = this.value(index);
    while ((index = this.#find(lowerName, index + 1)) >= 0) value += `, ${this.value(index)}`;
    return value;
  }

  /** Like `combined`, but a field that `Connection` nominates is absent, as it is for the next recipient. */
  combinedPassing(lowerName: string): string | undefined {
    const index = this.#find(lowerName, 0);
    return index < 0 || this.isNominated(index) ? undefined : this.combined(lowerName);
  }

  /**
   * Whether field `index` is an ordinary field that `Connection` nominates, and so ends here (RFC 9110 section 7.6.1).
   */
  isNominated(index: number): boolean {
    if (this.#nominated === undefined || this.kind(index) !== HeaderKind.ordinary) return false;
    return this.#nominated.has(this.name(index).toLowerCase());
  }

  /** Whether there is a HTAB between the value of field `index` and the end of its line. */
  hasTabAfter(index: number): boolean {
    let at = this.#bounds[index * 4 + 3] as number;
    while (this.text.charCodeAt(at) === SP) at++;
    return this.text.charCodeAt(at) === HTAB;
  }

  /** Field `index` as a line to send, always `Name: value` CRLF, whatever white space was received. */
  line(index: number): string {
    const at = index * 4;
    if (this.#isNormal(at)) return this.text.slice(this.#bounds[at], (this.#bounds[at + 3] as number) + 2);
    return `${this.name(index)}: ${this.value(index)}\r\n`;
  }

  /**
   * All ordinary fields that `Connection` does not nominate, as lines to send, in their order. Neighbouring fields
   * whose white space is already normal are copied as one slice, with the same bytes as from `line`.
   */
  ordinaryLines(): string {
    let lines = '';
    let runStart = -1;
    let runEnd = 0;
    for (let index = 0; index < this.count; index++) {
      const keep = this.#kinds[index] === HeaderKind.ordinary && !this.isNominated(index);
      const at = index * 4;
      if (keep && this.#isNormal(at)) {
        if (runStart < 0) runStart = this.#bounds[at] as number;
        runEnd = (this.#bounds[at + 3] as number) + 2;
        continue;
      }
      if (runStart >= 0) lines += this.text.slice(runStart, runEnd);
      runStart = -1;
      if (keep) lines += this.line(index);
    }
    return runStart < 0 ? lines : lines + this.text.slice(runStart, runEnd);
  }

  /**
   * Keeps the section for the next message if that is worth it, else releases it. Optional: a section that is not kept
   * is scanned again.
   */
  protected keep(): void {
    if (this.isRepeated) return;
    const { length } = this.text;
    const isInVain = this.#misses > MISSES_MAX && this.#misses % TRIED_EVERY !== 0;
    if (length > KEPT_BYTES_MAX || isInVain) return this.release();
    let kept = this.#kept;
    if (kept === undefined || kept.length < length) {
      kept = Buffer.allocUnsafeSlow(Math.ceil(length / KEPT_BYTES_STEP) * KEPT_BYTES_STEP);
      this.#kept = kept;
    }
    kept.write(this.text, 'latin1');
    this.#keptLength = length;
  }

  /** Prepares the instance for another connection, which may repeat other fields. */
  forget(): void {
    this.release();
    this.#misses = 0;
  }

  /** Releases the scanned text, so that an idle connection does not keep the memory of a whole head. */
  release(): void {
    this.text = '';
    this.count = 0;
    this.isRepeated = false;
    this.templates = undefined;
    this.#authorization = undefined;
    this.#origin = undefined;
    this.#keptLength = 0;
    this.#seen = 0;
    this.#repeated = 0;
    this.#nominated = undefined;
    this.#mayHaveCookies = false;
    this.#maySetCookies = false;
  }

  /** Whether the section was kept, is within the limit, and equals `bytes[from, to)`. */
  protected holds(bytes: Buffer, from: number, to: number, maxHeaders: number): boolean {
    const kept = this.#kept;
    if (kept === undefined || this.count > maxHeaders) return false;
    const length = this.#keptLength;
    if (length === 0 || length !== to - from) return false;
    for (let at = 0; at < length; at++) {
      if (bytes[from + at] !== kept[at]) return false;
    }
    this.#misses = 0;
    return true;
  }

  /**
   * Scans the field lines in `bytes[from, to)`, which must end with the CRLF of the last line. It scans bytes because
   * typed arrays are several times faster to walk over than strings, and creates the text that names and values are
   * sliced from. After an error the section has no fields.
   */
  protected scan(bytes: Buffer, from: number, to: number, maxHeaders: number): HeadError | undefined {
    this.release();
    this.#misses += 1;
    this.text = from < to ? latin1Text(bytes, from, to) : '';
    let position = from;
    while (position < to) {
      const nameStart = position;
      let hash = HASH_SEED;
      let bits = 0;
      let entry = TOKEN[bytes[position] as number] as number;
      while (entry !== 0) {
        hash = hashStep(hash, entry);
        bits |= entry;
        entry = TOKEN[bytes[++position] as number] as number;
      }
      const nameEnd = position;
      if (bytes[position] !== COLON || nameEnd === nameStart) {
        return this.#fail(nameError(bytes, nameStart, position));
      }
      do position++;
      while (bytes[position] === SP || bytes[position] === HTAB);
      const valueStart = position;
      let byte = bytes[position] as number;
      while ((byte >= SP && byte !== DEL) || byte === HTAB) byte = bytes[++position] as number;
      if (byte !== CR || bytes[position + 1] !== LF) return this.#fail(valueError(bytes, position));
      let valueEnd = position;
      while (valueEnd > valueStart && isBlank(bytes[valueEnd - 1] as number)) valueEnd--;
      position += 2;
      const index = this.count;
      if (index >= maxHeaders) return this.#fail(tooManyHeaders(maxHeaders));
      if (index === this.#kinds.length) this.#grow();
      const bounds = this.#bounds;
      bounds[index * 4] = nameStart - from;
      bounds[index * 4 + 1] = nameEnd - from;
      bounds[index * 4 + 2] = valueStart - from;
      bounds[index * 4 + 3] = valueEnd - from;
      if (hash === COOKIE_HASH) this.#mayHaveCookies = true;
      else if (hash === SET_COOKIE_HASH) this.#maySetCookies = true;
      this.#add(index, classifyName(bytes, nameStart, nameEnd, hash, bits));
    }
    return undefined;
  }

  /** Reads every `Connection` field and remembers the names that it nominates. */
  protected scanConnection(): ConnectionOptions | HeadError {
    const options = connectionOptions(this);
    const nominated = 'nominated' in options ? options.nominated : undefined;
    this.#nominated = nominated === undefined ? undefined : new Set(nominated);
    return options;
  }

  /**
   * Replaces values of `Cookie` fields. A field whose value becomes empty is not forwarded.
   * @param edit returns the new value, which must not be longer; undefined: no change
   */
  protected editCookies(edit: (value: string) => string | undefined): void {
    if (!this.#mayHaveCookies) return;
    let text = '';
    let copied = 0;
    for (let index = this.#find(COOKIE, 0); index >= 0; index = this.#find(COOKIE, index + 1)) {
      const value = edit(this.value(index));
      if (value === undefined) continue;
      const start = this.#bounds[index * 4 + 2] as number;
      const end = this.#bounds[index * 4 + 3] as number;
      // The positions of other fields stay valid.
      text += this.text.slice(copied, start) + value.padEnd(end - start);
      copied = end;
      this.#bounds[index * 4 + 3] = start + value.length;
      if (value === '') this.#kinds[index] = HeaderKind.hopByHop;
    }
    if (copied > 0) this.text = ownText(text + this.text.slice(copied));
  }

  /** Keeps back `Set-Cookie` fields with such a value: they are not forwarded. */
  protected dropSetCookies(isDropped: (value: string) => boolean): void {
    if (!this.#maySetCookies) return;
    for (let index = this.#find(SET_COOKIE, 0); index >= 0; index = this.#find(SET_COOKIE, index + 1))
      if (isDropped(this.value(index))) this.#kinds[index] = HeaderKind.hopByHop;
  }

  #add(index: number, kind: HeaderKind): void {
    this.count = index + 1;
    this.#kinds[index] = kind;
    const bit = 1 << kind;
    if ((this.#seen & bit) !== 0) {
      this.#repeated |= bit;
    } else {
      this.#seen |= bit;
      this.#first[kind] = index;
    }
  }

  #grow(): void {
    const bounds = new Int32Array(this.#bounds.length * 2);
    bounds.set(this.#bounds);
    this.#bounds = bounds;
    const kinds = new Uint8Array(this.#kinds.length * 2);
    kinds.set(this.#kinds);
    this.#kinds = kinds;
  }

  #fail(error: HeadError): HeadError {
    this.release();
    return error;
  }

  /** Whether the field at `at` was sent exactly as `line` writes it: one space after the colon, none at the end. */
  #isNormal(at: number): boolean {
    const nameEnd = this.#bounds[at + 1] as number;
    return (
      this.#bounds[at + 2] === nameEnd + 2 &&
      this.text.charCodeAt(nameEnd + 1) === 0x20 &&
      this.text.charCodeAt(this.#bounds[at + 3] as number) === CR
    );
  }

  #find(lowerName: string, from: number): number {
    for (let index = from; index < this.count; index++) {
      const start = this.#bounds[index * 4] as number;
      const length = (this.#bounds[index * 4 + 1] as number) - start;
      if (length === lowerName.length && hasLowerCaseAt(this.text, start, lowerName)) return index;
    }
    return -1;
  }
}

/** A section outside a message head: trailers. `parse` refuses what `FieldSection` refuses. */
export class TrailerSection extends FieldSection {
  parse(text: string, maxHeaders: number): HeadError | undefined {
    if (!text.endsWith('\r\n'))
      return headError(400, 'bad_header_line', 'The trailer section is incomplete.');
    return this.scan(scratchBytes(text), 0, text.length, maxHeaders);
  }
}

function hashOf(lowerName: string): number {
  return Buffer.from(lowerName).reduce((hash, byte) => hashStep(hash, TOKEN[byte] as number), HASH_SEED);
}

function tooManyHeaders(maxHeaders: number): HeadError {
  return headError(431, 'too_many_headers', `The message has more than ${maxHeaders} header fields.`);
}

/** Whether `text` has `lowerCase` (token characters in lower case) at `start`, ignoring case. */
export function hasLowerCaseAt(text: string, start: number, lowerCase: string): boolean {
  for (let i = 0; i < lowerCase.length; i++) {
    if (TOKEN[text.charCodeAt(start + i)] !== TOKEN[lowerCase.charCodeAt(i)]) return false;
  }
  return true;
}

const badLine = headError(400, 'bad_header_line', 'A header line has no colon.');

function nameError(bytes: Buffer, nameStart: number, position: number): HeadError {
  const code = bytes[position] as number;
  if (position === nameStart && isBlank(code)) {
    return headError(
      400,
      'obsolete_line_folding',
      'A header line begins with white space (RFC 9112 section 5.2).',
    );
  }
  if (position === nameStart && code === COLON) {
    return headError(400, 'empty_header_name', 'A header field has no name.');
  }
  if (isBlank(code)) {
    return headError(400, 'space_in_header_name', 'There is white space before the colon of a header field.');
  }
  if (code === CR || code === LF) return lineEndError(bytes, position, badLine);
  return headError(400, 'bad_header_name', 'A header name contains a byte that is not a token character.');
}

function valueError(bytes: Buffer, position: number): HeadError {
  const code = bytes[position] as number;
  if (code === CR || code === LF) return lineEndError(bytes, position, badLine);
  return headError(400, 'bad_header_value', 'A header value contains a control character.');
}

/** The error for a bare CR or LF at `position`, or `otherwise` when it is part of a proper CRLF. */
export function lineEndError(bytes: Buffer, position: number, otherwise: HeadError): HeadError {
  if (bytes[position] === LF) {
    return headError(400, 'bare_line_feed', 'A line ends with LF alone; CRLF is required.');
  }
  if (bytes[position + 1] !== LF) {
    return headError(400, 'bare_carriage_return', 'The head contains a CR that is not followed by LF.');
  }
  return otherwise;
}
