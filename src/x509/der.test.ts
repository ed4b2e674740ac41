import { expect, it } from 'vitest';
import { DerReader, TAG } from './der.ts';

function utcTime(text: string): { readonly at: string; readonly isBroken: boolean } {
  const reader = new DerReader(Buffer.concat([Buffer.from([TAG.utcTime, text.length]), Buffer.from(text)]));
  const at = new Date(reader.time()).toISOString();
  return { at, isBroken: reader.isBroken };
}

it.each([
  ['261130054502Z', '2026-11-30T05:45:02.000Z'],
  ['240229000000Z', '2024-02-29T00:00:00.000Z'],
  ['500101000000Z', '1950-01-01T00:00:00.000Z'],
])('reads the time %s', (text, at) => {
  expect(utcTime(text)).toEqual({ at, isBroken: false });
});

it.each(['261131054502Z', '260229000000Z', '260100000000Z', '261301000000Z', '260101240000Z', '2601010000Z'])(
  'refuses %s, which is no time',
  (text) => {
    expect(utcTime(text).isBroken).toBe(true);
  },
);
