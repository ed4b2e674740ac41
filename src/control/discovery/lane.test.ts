/** Who is looked at next: bounds, and that what never answers holds nothing else up. */
import { beforeEach, expect, it } from 'vitest';
import { Lane, LOOKS_MAX, SLOW_MAX, STARTS_MAX, type InLane } from './lane.ts';

interface One extends InLane {
  readonly name: string;
}

let under: Map<One, () => void>;
let lane: Lane<One>;
beforeEach(() => {
  under = new Map();
  lane = new Lane<One>((one) => new Promise((done) => under.set(one, done)));
});

const add = (count: number, name: string, isSlow: boolean): One[] =>
  Array.from({ length: count }, () => {
    const one: One = { name, isSlow, phase: 'resting' };
    lane.add(one);
    return one;
  });
const running = (name: string): number => [...under.keys()].filter((one) => one.name === name).length;
async function end(one: One): Promise<void> {
  under.get(one)?.();
  under.delete(one);
  await new Promise((done) => setImmediate(done));
}

it('sources that fail have half of the places, and a few of them first', async () => {
  add(200, 'failing', true);
  lane.tick();
  expect(running('failing')).toBe(SLOW_MAX);
  const [first] = add(200, 'good', false);
  lane.tick();
  expect(running('good')).toBe(LOOKS_MAX - SLOW_MAX);
  // A place that a failing one has left goes to one that works.
  for (const one of [...under.keys()].filter(({ name }) => name === 'failing').slice(0, 20)) await end(one);
  lane.tick();
  expect(running('good')).toBe(LOOKS_MAX - SLOW_MAX + 20);
  for (const one of [...under.keys()].filter(({ name }) => name === 'failing')) await end(one);
  lane.tick();
  expect(running('failing')).toBeGreaterThan(0);
  expect(running('failing')).toBeLessThan(SLOW_MAX);
  expect(first?.phase).toBe('running');
});

it('a removed source frees its place at once, and takes no other place', async () => {
  const gone = add(LOOKS_MAX, 'gone', false);
  add(2 * LOOKS_MAX, 'good', false);
  lane.tick();
  expect(running('good')).toBe(0);
  for (const one of gone) lane.remove(one);
  lane.tick();
  expect(running('good')).toBe(LOOKS_MAX);
  for (const one of gone) await end(one);
  lane.tick();
  expect(running('good')).toBe(LOOKS_MAX);
});

it('no more begin in one tick than may', async () => {
  const quick = new Lane<One>(async (one) => void under.set(one, () => undefined));
  for (let count = 0; count < 3 * STARTS_MAX; count++)
    quick.add({ name: 'quick', isSlow: count % 2 === 0, phase: 'resting' });
  quick.tick();
  await new Promise((done) => setImmediate(done));
  expect(under.size).toBe(STARTS_MAX);
});
