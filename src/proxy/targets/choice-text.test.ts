import { expect, it } from 'vitest';
import { choiceReasonText } from './choice-text.ts';
import { hashKey } from './hash-choice.ts';
import type { TargetChoice } from './target-view.ts';
import { testGroup } from './test-groups.ts';

const settings = { algorithm: 'hash', hash: { by: 'header', name: 'X-User' } } as const;

it('says that a request has no value to hash only if it has none', () => {
  const { group } = testGroup({ weights: [1, 1, 1], settings });
  const reason = (choice: TargetChoice | undefined, tried: number): string => {
    if (choice === undefined) throw new Error('No target was chosen');
    const { backend } = group.targetOf(choice.index);
    return choiceReasonText({
      backend,
      choice,
      targets: group.compiled,
      zone: undefined,
      tried,
      cookieLine: '',
    });
  };
  const drawn = 'it was drawn by weight; neither of the two drawn targets had a request under way';
  expect(reason(group.choose(undefined), 0)).toBe(`the request has no header x-user to hash; ${drawn}`);
  const first = group.choose(hashKey('mia'));
  expect(reason(first, 0)).toBe('the hash of the header x-user leads to it');
  expect(reason(group.chooseOther([first.index]), 1)).toBe(`1 target has failed the request; ${drawn}`);
});
