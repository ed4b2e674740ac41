/** Damages latin1 text the way that finds parser bugs: at line ends, separators and digits more than elsewhere. */
import type { Random } from './random.ts';

const spices = [
  '\r\n',
  '\r',
  '\n',
  '\0',
  ' ',
  '\t',
  ':',
  ',',
  ';',
  '=',
  '"',
  '\\',
  '/',
  '//',
  '..',
  '%',
  '%2e',
  '%2F',
  '#',
  '?',
  '\x0b',
  '\x7f',
  '\x80',
  '\xff',
  '0',
  '1',
  '-',
  '+',
  '0x',
  '99999999999999999999',
  '_',
  '\r\n\r\n',
  '\r\n ',
  ' :',
  'chunked',
  'Content-Length: 1\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Host: b\r\n',
  'Connection: close\r\n',
];

/** `text` with one to four changes. */
export function mutate(text: string, random: Random): string {
  let mutated = text;
  for (let changes = 1 + random.below(4); changes > 0; changes--) mutated = mutateOnce(mutated, random);
  return mutated;
}

/** Most bytes of an input that was stretched. */
const STRETCHED_BYTES = 32 * 1024;

/**
 * Now and then with a part of it repeated many times, for what is worked on again and again. Every input goes through
 * this as the last step, which is where its bytes are counted.
 */
export function stretched(text: string, random: Random, bytes = STRETCHED_BYTES): string {
  let made = text;
  if (random.oneIn(100)) {
    const at = random.below(text.length + 1);
    const part = random.oneIn(2) ? random.pick(spices) : text.slice(at, at + 1 + random.below(16));
    const times = Math.floor(bytes / Math.max(1, part.length));
    made = text.slice(0, at) + part.repeat(times) + text.slice(at);
  }
  random.bytes += made.length;
  return made;
}

function mutateOnce(text: string, random: Random): string {
  const at = random.below(text.length + 1);
  const length = random.below(Math.min(16, text.length - at + 1));
  switch (random.below(6)) {
    case 0:
      return text.slice(0, at) + random.pick(spices) + text.slice(at);
    case 1:
      return text.slice(0, at) + text.slice(at + length);
    case 2:
      return text.slice(0, at) + random.pick(spices) + text.slice(at + length);
    case 3:
      return text.slice(0, at) + text.slice(at, at + length).repeat(2) + text.slice(at + length);
    case 4:
      return text.slice(0, at) + String.fromCharCode(random.below(256)) + text.slice(at + 1);
    default:
      return swapCase(text, at, length);
  }
}

function swapCase(text: string, at: number, length: number): string {
  const part = text
    .slice(at, at + length)
    .replace(/[A-Za-z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) ^ 0x20));
  return text.slice(0, at) + part + text.slice(at + length);
}
