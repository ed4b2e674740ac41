/**
 * The server side of HTTP/2: whatever frames a client sends, and however they are cut into reads, nothing throws, the
 * same is answered, no more streams are open than are allowed, nothing is read behind an error, and each stream gets
 * content and an end only while its client may send them. Responses are read back with the decoder.
 */
import { ErrorCode, frameHead, FrameType, PREFACE } from '../../src/http/http2/frames.ts';
import { HpackDecoder } from '../../src/http/http2/hpack/decoder.ts';
import { encodeField } from '../../src/http/http2/hpack/encoder.ts';
import type { FrameSocket } from '../../src/proxy/downstream/client-socket.ts';
import {
  ClientWire,
  STREAMS_MAX,
  type WireOwner,
  type WireStream,
} from '../../src/proxy/downstream/http2/client-wire.ts';
import type { ReadRequest } from '../../src/proxy/downstream/http2/request-sections.ts';
import { responseBlock } from '../../src/proxy/downstream/http2/response-block.ts';
import { someHttp2Fields } from './http2.ts';
import { check, checkEqual, type Fuzzer } from './fuzzer.ts';
import type { Random } from './random.ts';

const OPTIONS = { maxHeadBytes: 4_096, maxHeaders: 50, http2Websockets: true };
const WINDOW_MAX = 2 ** 31 - 1;

/** Writes down what the wire tells and sends. */
class Recorder implements WireOwner {
  readonly events: string[] = [];
  readonly wire: ClientWire;
  isBroken = false;

  constructor() {
    const socket = {
      attach: () => undefined,
      writeText: (text: string) => this.#add(`sent ${Buffer.from(text, 'latin1').toString('hex')}`),
      writeBytes: () => true,
      together: (step: () => void) => step(),
      needsDrain: false,
      pause: () => undefined,
      resume: () => undefined,
    } as unknown as FrameSocket;
    this.wire = new ClientWire(socket, this, OPTIONS);
    this.wire.start();
  }

  #add(event: string): boolean {
    check(!this.isBroken, `${event} behind an error`);
    this.events.push(event);
    return true;
  }

  onControl(): void {}
  onSection(): void {}

  seat(): WireStream {
    check(this.wire.openCount < STREAMS_MAX, 'Too many streams');
    return new Stream(this.wire, (event) => this.#add(event));
  }

  onReset(): void {
    this.#add('reset');
  }

  onGoaway(): void {
    this.#add('goaway');
  }

  onBroken(code: number): void {
    this.#add(`broken ${code}`);
    this.isBroken = true;
  }
}

class Stream implements WireStream {
  id = 0;
  window = 0;
  ownWindow = 0;
  owed = 0;
  isEndSeen = false;
  readonly isEndSent = false;
  #isGone = false;
  readonly #wire: ClientWire;
  readonly #tell: (event: string) => void;

  constructor(wire: ClientWire, tell: (event: string) => void) {
    this.#wire = wire;
    this.#tell = tell;
  }

  begin(request: ReadRequest, endStream: boolean): void {
    this.isEndSeen = endStream;
    const isKnown = request.framing === 'tunnel' ? request.websocketKey : undefined;
    this.#tell(`request ${this.id} ${endStream} ${request.text.replace(isKnown ?? '\0', 'key')}`);
    checkEqual(request.head.toString('latin1'), request.text, 'Another head than its text');
  }

  onData(bytes: Buffer, from: number, to: number): void {
    check(!this.#isGone && !this.isEndSeen && to > from && to <= bytes.length, 'Content out of place');
    this.#tell(`data ${this.id} ${bytes.toString('hex', from, to)}`);
    this.#wire.passedOn(this, to - from);
    check(this.ownWindow <= WINDOW_MAX, 'A window that is too large');
  }

  onRequestEnd(trailers: string): void {
    check(!this.#isGone && !this.isEndSeen, 'A second end');
    this.isEndSeen = true;
    this.#tell(`end ${this.id} ${trailers}`);
    // Every other stream is answered.
    if (this.id % 4 === 1) this.#wire.sendHead(this, '\x88', true);
    if (this.id % 4 === 1) this.#wire.close(this);
  }

  onGone(): void {
    check(!this.#isGone, 'Gone twice');
    this.#isGone = true;
    this.#tell(`gone ${this.id}`);
  }

  breakOff(code: number): void {
    this.#isGone = true;
    this.#wire.reset(this, code);
  }

  onRoom(): boolean {
    return false;
  }
}

const block = (fields: readonly string[]): string => {
  let text = '';
  for (let index = 0; index < fields.length; index += 2)
    text += encodeField(
      fields[index] as string,
      (fields[index + 1] as string).replaceAll(/[^\0-\xff]/g, '?'),
    );
  return text;
};

const GET = [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'a'];
const POST = [':method', 'POST', ...GET.slice(2)];

function someFrame(random: Random, next: () => number): string {
  const id = random.oneIn(3) ? next() : 1 + 2 * random.below(12);
  const payload = (length: number): string =>
    String.fromCharCode(...Array.from({ length }, () => random.below(random.oneIn(3) ? 256 : 2)));
  const framed = (type: number, flags: number, stream: number, text: string): string =>
    frameHead(text.length, type, flags, stream) + text;
  switch (random.below(12)) {
    case 0:
      return framed(FrameType.data, random.below(2), id, 'x'.repeat(random.below(40)));
    case 1:
      return framed(FrameType.reset, 0, id, payload(4));
    case 2:
      return framed(
        FrameType.settings,
        random.below(2),
        0,
        random.oneIn(2) ? '' : `\0${payload(1)}${payload(4)}`,
      );
    case 3:
      return framed(FrameType.ping, random.below(2), 0, payload(8));
    case 4:
      return framed(FrameType.windowUpdate, 0, random.oneIn(3) ? 0 : id, payload(4));
    case 5:
      return framed(
        random.below(12),
        random.pick([0, 1, 4, 5, 8, 0x2d]),
        random.below(30),
        payload(random.below(30)),
      );
    case 6:
      return framed(FrameType.headers, 4 | random.below(2), next(), block(someHttp2Fields(random)));
    case 7:
      return framed(FrameType.headers, 5, id, block(['x-trailer', random.pick(['1', 'a\nb', ''])]));
    case 8:
      // Enters the table.
      return framed(FrameType.headers, 5, next(), `${block(GET)}\x40\x01x\x01${random.pick(['1', '2'])}`);
    default:
      return framed(FrameType.headers, random.pick([4, 5]), next(), block(random.pick([GET, POST])));
  }
}

function read(bytes: Buffer, cuts: readonly number[]): string[] {
  const recorder = new Recorder();
  // As the memory that reads share, which the next read overwrites.
  const shared = Buffer.alloc(bytes.length);
  let from = 0;
  for (const to of [...cuts, bytes.length]) {
    bytes.copy(shared, 0, from, to);
    if (to > from && !recorder.isBroken) recorder.wire.read(shared.subarray(0, to - from));
    shared.fill(0xee);
    from = to;
  }
  return joinedContent(recorder.events);
}

/** Content that comes in pieces is the same content. */
function joinedContent(events: readonly string[]): string[] {
  const all: string[] = [];
  for (const event of events) {
    const [kind, id, text = ''] = event.split(' ');
    const last = all.at(-1);
    if (kind === 'data' && last?.startsWith(`data ${id} `) === true) all[all.length - 1] = last + text;
    else all.push(event);
  }
  return all;
}

export const http2ClientsFuzzer: Fuzzer = {
  name: 'http2-clients',
  step: (random) => {
    let last = -1;
    const next = (): number => (last += 2);
    let text = PREFACE + frameHead(0, FrameType.settings, 0, 0);
    for (let count = 1 + random.below(20); count > 0; count--) text += someFrame(random, next);
    const bytes = Buffer.from(random.oneIn(40) ? text.slice(1) : text, 'latin1');
    random.bytes += bytes.length * 4;
    const whole = read(bytes, []);
    const cuts = Array.from({ length: random.below(12) }, () => random.below(bytes.length + 1)).sort(
      (a, b) => a - b,
    );
    checkEqual(read(bytes, cuts), whole, `Other events of ${bytes.toString('hex')} cut at ${cuts.join(' ')}`);
    const single = Array.from({ length: bytes.length - 1 }, (_, index) => index + 1);
    checkEqual(read(bytes, single), whole, `Other events of ${bytes.toString('hex')}, byte by byte`);
    const known: number[] = Object.values(ErrorCode);
    for (const event of whole)
      if (event.startsWith('broken ')) check(known.includes(Number(event.slice(7))), `Unknown: ${event}`);
  },
};

const NAMES = [
  'Content-Type',
  'x-a',
  'Content-Length',
  'Connection',
  'Transfer-Encoding',
  'Set-Cookie',
  'VARY',
  'a b',
  '',
];
const VALUES = ['', 'a', ' a', 'a \t', 'text/plain', '12', 'ä', 'a\rb', 'a\nb', 'a\0b', 'x'.repeat(200)];
const DROPPED = new Set(['connection', 'transfer-encoding']);

/** Heads of responses as header sections, against the obvious reading of their lines. */
export const http2ResponsesFuzzer: Fuzzer = {
  name: 'http2-responses',
  step: (random) => {
    const status = random.pick(['200', '404', '100', '599']);
    const fields = Array.from({ length: random.below(8) }, () => [
      random.pick(random.oneIn(8) ? NAMES : NAMES.slice(0, 7)),
      random.pick(random.oneIn(8) ? VALUES : VALUES.slice(0, 7)),
    ]);
    const text = `HTTP/1.1 ${status} OK\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}`;
    const before = random.oneIn(2) ? 'HTTP/1.1 103 Early\r\n\r\n' : '';
    const made = responseBlock(`${before}${text}\r\nbody`, before.length, before.length + text.length);
    const isSound = fields.every(
      ([name = '', value = '']) => !/[ ]|^$/.test(name) && !/[\0\r\n]/.test(value.replace(/\r\n$/, '')),
    );
    checkEqual(made !== undefined, isSound, `Sound or not: ${JSON.stringify(text)}`);
    if (made === undefined) return;
    const decoder = new HpackDecoder({ listBytesMax: 1e6, fieldsMax: 100 });
    const encoded = Buffer.from(made.block, 'latin1');
    check(decoder.decode(encoded, 0, encoded.length), `No section: ${JSON.stringify(text)}`);
    const expected = fields.flatMap(([name = '', value = '']) =>
      DROPPED.has(name.toLowerCase()) ? [] : [[name.toLowerCase(), value.replaceAll(/^[ \t]+|[ \t]+$/g, '')]],
    );
    checkEqual(
      decoder.fields.map(({ name, value }) => [name, value]),
      [[':status', status], ...expected],
      `Other fields: ${JSON.stringify(text)}`,
    );
  },
};
