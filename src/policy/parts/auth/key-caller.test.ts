/** The caller of a plain key, whose lines are written as bytes, against the one whose lines are put together as texts. */
import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { keyRecord } from '../../../../test/support/data/config-records.ts';
import { KeyTable } from '../../../keys/key-table.ts';
import { readHash, WordBuffer } from '../../../keys/key-words.ts';
import { emptyPlainKey } from '../../../keys/plain-key.ts';
import { presentedKey } from '../../../keys/presented-key.ts';
import { callerOfKey, callerOfPlainKey } from './key-caller.ts';
import type { Caller } from '../../stage.ts';

const ID = '0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';
const HASH = hash('sha256', 'token');

function callers(name: string, scopes: string[]): [Caller | undefined, Caller | undefined] {
  const key = keyRecord({ id: ID, app_id: ID, name, scopes, token_hash: HASH });
  const table = new KeyTable();
  table.change([key], []);
  const words = new WordBuffer(8);
  readHash(HASH, words);
  const plain = emptyPlainKey();
  const isPlain = table.readPlainKey(table.findReference(words), words.words, 0, plain);
  const presented = presentedKey(key, false);
  return [isPlain ? callerOfPlainKey(plain) : undefined, presented && callerOfKey(presented)];
}

it.each([
  ['nightly job', ['orders:read']],
  ['a', []],
  ['~!$&', ['a', 'b', 'no scope-token']],
  ['n'.repeat(512), ['x'.repeat(900)]],
])('is the same: %s', (name, scopes) => {
  const [fast, slow] = callers(name, scopes);
  expect(fast).toEqual(slow);
});

it.each([['50 %'], [' office'], ['office '], ['büro'], ['a"b'], [''], ['n'.repeat(513)]])(
  'is left to the other way when the name is %j',
  (name) => {
    expect(callers(name, [])[0]).toBeUndefined();
  },
);

it('is the same, or is left to the other way, whatever the names', () => {
  expect.hasAssertions();
  fc.assert(
    fc.property(fc.string({ maxLength: 20 }), fc.array(fc.string({ maxLength: 10 })), (name, scopes) => {
      const [fast, slow] = callers(name, scopes);
      expect(fast ?? slow).toEqual(slow);
    }),
  );
});
