import { expect, it } from 'vitest';
import { isStray, STRAY_MS, Strays } from './strays.ts';

it('a backend is on the list until it has sent no stray bytes for a minute', () => {
  const strays = new Strays();
  expect(strays.has('a', 0)).toBe(false);
  expect(strays.note('a', 0)).toBe(true);
  expect(strays.note('a', 30_000)).toBe(false);
  expect(strays.has('b', 30_000)).toBe(false);
  expect(strays.has('a', 30_000 + STRAY_MS - 1)).toBe(true);
  expect(strays.has('a', 30_000 + STRAY_MS)).toBe(false);
  expect(strays.note('a', 31_000 + STRAY_MS)).toBe(true);
});

it('forgets the oldest of very many', () => {
  const strays = new Strays();
  for (let index = 0; index <= 10_000; index++) strays.note(`b${index}`, 0);
  expect([strays.has('b0', 0), strays.has('b1', 0), strays.has('b10000', 0)]).toEqual([false, true, true]);
});

it.each([
  ['', false],
  ['\r\n', false],
  ['\r\n\r\n\n', false],
  ['HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n', false],
  ['\r\nHTTP/1.0 408\r\n\r\n', false],
  ['HTTP/1.1 408 Request Timeout\r\nContent-Length: 2\r\n\r\nno', false],
  ['HTTP/1.1 408 Request Timeout\r\n\r\nHTTP/1.1 200 OK\r\n\r\n', true],
  ['HTTP/1.1 4080\r\n\r\n', true],
  ['HTTP/1.1 200 OK\r\n\r\n', true],
  ['H', true],
  ['0', true],
  ['<html>', true],
])('%j is one: %s', (text, expected) => {
  const bytes = Buffer.from(`x${text}y`, 'latin1');
  expect(isStray(bytes, 1, bytes.length - 1)).toBe(expected);
});
