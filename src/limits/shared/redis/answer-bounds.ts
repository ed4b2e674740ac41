/**
 * Checks that bytes of a limit store are answers of Valkey or Redis (RESP version 2) within bounds, before the client
 * library reads them: it makes room for as many elements as an array announces, recurses into arrays, and collects
 * lines and strings of any length, so another program at the address, or a broken server, could end the process.
 * Keeps no bytes, and the state of one connection.
 */

/** A status, an error or a number. The longest is an error that quotes a script. */
const LINE_BYTES_MAX = 64 * 1_024;
/** The longest texts are those of `INFO` and of the nodes of a cluster. */
const STRING_BYTES_MAX = 4 * 1_024 * 1_024;
/** A cluster lists at most its 16,384 slots. */
const ELEMENTS_MAX = 16_384;
/** A cluster lists its slots in arrays of arrays of arrays, with one more in later versions. */
const DEPTH_MAX = 8;
/** Of one answer with all that it contains. */
const ANSWER_BYTES_MAX = 8 * 1_024 * 1_024;
/** The digits of 2^63. */
const DIGITS_MAX = 19;

const CR = 0x0d;
const LF = 0x0a;
const MINUS = 0x2d;
const PLUS = 0x2b;
const ZERO = 0x30;
const NUMBER = 0x3a;
const STRING = 0x24;
const ARRAY = 0x2a;

/** The bytes are no answer of Valkey or Redis. */
export class RubbishAnswer extends Error {
  constructor(what: string, options?: ErrorOptions) {
    super(`what answers is no Valkey or Redis, or is broken: ${what}`, options);
  }
}

type Place = 'type' | 'line' | 'line end' | 'string' | 'string end' | 'string line end';

export class AnswerBounds {
  #place: Place = 'type';
  /** First byte of the value that is being read. */
  #type = 0;
  #lineBytes = 0;
  #isNegative = false;
  #digits = 0;
  #value = 0;
  /** Bytes of the string that are to come. */
  #left = 0;
  /** For each array around the value how many elements are to come. */
  readonly #open: number[] = [];
  #answerBytes = 0;

  /** For a new connection. */
  reset(): void {
    this.#place = 'type';
    this.#open.length = 0;
    this.#answerBytes = 0;
  }

  /** @throws RubbishAnswer */
  check(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      const skipped = this.#place === 'string' ? Math.min(this.#left, bytes.length - at) : 0;
      if (skipped > 0) {
        this.#left -= skipped;
        if (this.#left === 0) this.#place = 'string end';
      } else this.#step(bytes[at] as number);
      at += Math.max(1, skipped);
      this.#answerBytes += Math.max(1, skipped);
      if (this.#answerBytes > ANSWER_BYTES_MAX)
        throw new RubbishAnswer(`more than ${ANSWER_BYTES_MAX} bytes`);
      if (this.#place === 'type' && this.#open.length === 0) this.#answerBytes = 0;
    }
  }

  #step(byte: number): void {
    switch (this.#place) {
      case 'type':
        return this.#begin(byte);
      case 'line':
        return this.#readLine(byte);
      case 'line end':
        if (byte !== LF) throw new RubbishAnswer('a line without an end');
        return this.#endLine();
      case 'string':
      case 'string end':
        if (byte !== CR) throw new RubbishAnswer('a string that is longer than announced');
        this.#place = 'string line end';
        return;
      case 'string line end':
        if (byte !== LF) throw new RubbishAnswer('a string that is longer than announced');
        this.#ended();
    }
  }

  #begin(byte: number): void {
    if (![PLUS, MINUS, NUMBER, STRING, ARRAY].includes(byte))
      throw new RubbishAnswer(`an answer that begins with the byte ${byte}`);
    this.#place = 'line';
    this.#type = byte;
    this.#lineBytes = this.#digits = this.#value = 0;
    this.#isNegative = false;
  }

  #readLine(byte: number): void {
    const isText = this.#type === PLUS || this.#type === MINUS;
    if (byte === CR) {
      if (!isText && this.#digits === 0) throw new RubbishAnswer('a number without digits');
      this.#place = 'line end';
      return;
    }
    this.#lineBytes += 1;
    if (isText) {
      if (this.#lineBytes > LINE_BYTES_MAX)
        throw new RubbishAnswer(`a line of more than ${LINE_BYTES_MAX} bytes`);
    } else if (this.#lineBytes === 1 && (byte === MINUS || (byte === PLUS && this.#type === NUMBER)))
      this.#isNegative = byte === MINUS;
    else this.#readDigit(byte - ZERO);
  }

  #readDigit(digit: number): void {
    this.#digits += 1;
    if (digit < 0 || digit > 9 || this.#digits > DIGITS_MAX)
      throw new RubbishAnswer('a number with other characters or too many digits');
    this.#value = this.#value * 10 + digit;
  }

  #endLine(): void {
    const isNull = this.#isNegative && this.#value === 1 && this.#digits === 1;
    if (this.#type !== STRING && this.#type !== ARRAY) return this.#ended();
    if (isNull) return this.#ended();
    if (this.#isNegative) throw new RubbishAnswer('a length below zero');
    if (this.#type === STRING) {
      if (this.#value > STRING_BYTES_MAX) throw new RubbishAnswer(`a string of ${this.#value} bytes`);
      this.#left = this.#value;
      this.#place = this.#left === 0 ? 'string end' : 'string';
      return;
    }
    if (this.#value > ELEMENTS_MAX) throw new RubbishAnswer(`an array of ${this.#value} elements`);
    if (this.#value === 0) return this.#ended();
    if (this.#open.push(this.#value) > DEPTH_MAX)
      throw new RubbishAnswer(`arrays in more than ${DEPTH_MAX} arrays`);
    this.#place = 'type';
  }

  /** A value is complete, and perhaps the arrays around it. */
  #ended(): void {
    this.#place = 'type';
    while (this.#open.length > 0) {
      const left = (this.#open.at(-1) as number) - 1;
      this.#open[this.#open.length - 1] = left;
      if (left > 0) return;
      this.#open.pop();
    }
  }
}
