import { describe, expect, it } from 'vitest';
import { bannedWords } from './words-rules.ts';

const wordsOf = (text: string): string[] => bannedWords(text).map(({ word }) => word);

describe('banned words', () => {
  it.each([
    ['// Nobody waits for the store.', 'Nobody'],
    ['// what somebody else wrote', 'somebody'],
    ["log.warn('a log that nobody reads');", 'nobody'],
    ['A message for whoever reads it.', 'whoever'],
    ['// The one who asks first is served first.', 'The one who'],
    ['// mends what is broken', 'mends'],
    ['// It tells the old gateway. That one drains.', 'That one'],
    ["// to another revision, by that one's policy", 'that one'],
    ['// Another rotation ends that one.', 'that one'],
    ["it('keeps that one', () => {});", 'that one'],
    ['  aimed.letGo();', 'letGo'],
    ['// refused of late', 'of late'],
    ["it('is as yet unknown', () => {});", 'as yet'],
    ['// refused for want of memory', 'for want of'],
    ['// a worker that waits in vain', 'in vain'],
    ["failed: 'This page met an error'", 'met an error'],
    ["['a URL that is none', 'x', 422],", 'that is none'],
    ['Look-alikes of a path are refused.', 'Look-alikes'],
    ['const bodies = new KeptBodies();', 'KeptBodies'],
    ["import { a } from './slot-claim.ts';", 'slot-claim'],
    ['"reason": "mend_keys"', 'mend_keys'],
  ])('are found in %s', (line, word) => {
    expect(wordsOf(line)).toEqual([word]);
  });

  it.each([
    '// the user `nobody`, on every distribution',
    '// an amendment to the plan, recommended',
    '// as you type it',
    '// a failure that is none of the conditions',
    '// so that one client cannot use all of them',
    '// the events that one write makes',
    'const takeHeader = 1;',
    'const request = await one(whom);',
  ])('are not found in %s', (line) => {
    expect(wordsOf(line)).toEqual([]);
  });

  it('are told with their lines and what to write instead', () => {
    expect(bannedWords('fine\nwe mend it\nfine\nof late, of late')).toEqual([
      { line: 2, word: 'mend', instead: 'fix' },
      { line: 4, word: 'of late', instead: 'recently' },
      { line: 4, word: 'of late', instead: 'recently' },
    ]);
  });
});
