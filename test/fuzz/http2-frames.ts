/**
 * The frames of HTTP/2 that a backend sends: however the bytes are cut into reads, the same comes out; every range is
 * one of the bytes that were read; and after an error, or after its reader was stopped, nothing comes.
 */
import { FrameReader, type FrameReceiver } from '../../src/http/http2/frame-reader.ts';
import { check, checkEqual, type Fuzzer } from './fuzzer.ts';
import type { Random } from './random.ts';

/** What has come, with content of neighbouring pieces put together. */
function listener(): { readonly events: string[]; readonly receiver: FrameReceiver } {
  const events: string[] = [];
  let isOver = false;
  const add = (event: string): void => {
    check(!isOver, `${event} after an error`);
    events.push(event);
  };
  const range = (bytes: Buffer, from: number, to: number): string => {
    check(from >= 0 && from <= to && to <= bytes.length, `A range ${from} to ${to} of ${bytes.length} bytes`);
    return bytes.toString('hex', from, to);
  };
  const receiver: FrameReceiver = {
    onDataFrame: (stream, length, content) => add(`frame ${stream} ${length} ${content} `),
    onData: (_stream, bytes, from, to) => {
      add('');
      events.pop();
      events.push(`${events.pop()}${range(bytes, from, to)}`);
    },
    onDataEnd: (stream, endStream) => add(`end ${stream} ${endStream}`),
    onHeaders: (stream, bytes, from, to, endStream) =>
      add(`headers ${stream} ${range(bytes, from, to)} ${endStream}`),
    onReset: (stream, code) => add(`reset ${stream} ${code}`),
    onSetting: (id, value) => add(`setting ${id} ${value}`),
    onSettingsEnd: () => add('settings'),
    onSettingsAck: () => add('settings ack'),
    onPing: (bytes, from, isAck) => add(`ping ${range(bytes, from, from + 8)} ${isAck}`),
    onGoaway: (last, code) => add(`goaway ${last} ${code}`),
    onWindowUpdate: (stream, bytes) => add(`window ${stream} ${bytes}`),
    onFrameError: (code) => {
      add(`error ${code}`);
      isOver = true;
    },
  };
  return { events, receiver };
}

function someFrames(random: Random): Buffer {
  const frames: Buffer[] = [];
  for (let count = 1 + random.below(8); count > 0; count--) {
    const type = random.oneIn(10) ? random.below(256) : random.below(10);
    const usual = [40, 40, 5, 4, 12, 40, 8, 8, 4, 40][type] ?? 10;
    const length = random.oneIn(6) ? random.below(60) : usual;
    const payload = Buffer.from(Array.from({ length }, () => random.below(random.oneIn(3) ? 256 : 4)));
    const head = Buffer.alloc(9);
    head.writeUIntBE(random.oneIn(60) ? 20_000 : length, 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(random.oneIn(2) ? random.pick([0, 4, 5, 1, 8, 9, 0x24]) : random.below(256), 4);
    head.writeUInt32BE([4, 6].includes(type) && !random.oneIn(8) ? 0 : random.below(4), 5);
    frames.push(head, payload);
  }
  return Buffer.concat(frames);
}

function read(bytes: Buffer, cuts: readonly number[]): string[] {
  const { events, receiver } = listener();
  const reader = new FrameReader(receiver);
  // As the memory that reads share, which the next read overwrites.
  const shared = Buffer.alloc(bytes.length);
  let from = 0;
  for (const to of [...cuts, bytes.length]) {
    bytes.copy(shared, 0, from, to);
    reader.read(shared, 0, to - from);
    shared.fill(0xee);
    from = to;
  }
  return events;
}

export const http2FramesFuzzer: Fuzzer = {
  name: 'http2-frames',
  step: (random) => {
    const bytes = someFrames(random);
    random.bytes += bytes.length * 4;
    const whole = read(bytes, []);
    const cuts = Array.from({ length: random.below(12) }, () => random.below(bytes.length + 1)).sort(
      (a, b) => a - b,
    );
    checkEqual(read(bytes, cuts), whole, `Other frames of ${bytes.toString('hex')} cut at ${cuts.join(' ')}`);
    const single = Array.from({ length: bytes.length - 1 }, (_, index) => index + 1);
    checkEqual(read(bytes, single), whole, `Other frames of ${bytes.toString('hex')}, byte by byte`);
  },
};
