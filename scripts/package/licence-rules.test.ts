import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ALLOWED_LICENCES, isAllowedLicence } from './licence-rules.ts';

describe('a licence of something that is shipped', () => {
  it.each([
    ['MIT', true],
    ['(MIT OR GPL-3.0-only)', true],
    ['GPL-3.0-only OR Apache-2.0', true],
    ['MIT AND ISC', true],
    ['MIT AND LGPL-2.1-only', false],
    ['(MIT AND GPL-2.0-only) OR (ISC AND 0BSD)', true],
    ['MIT OR (', false],
    ['MIT OR', false],
    ['MIT ISC', false],
    ['()', false],
    ['', false],
    ['AGPL-3.0-only', false],
    ['UNLICENSED', false],
    ['SEE LICENSE IN LICENSE', false],
    ['GPL-2.0-only WITH Classpath-exception-2.0', false],
    ['mit', false],
  ])('%j: %s', (expression, allowed) => {
    expect(isAllowedLicence(expression)).toBe(allowed);
  });

  /** Twin: the same tree, judged while it is made. */
  interface Judged {
    readonly text: string;
    readonly allowed: boolean;
  }
  const { tree } = fc.letrec<{ tree: Judged; leaf: Judged; both: Judged }>((tie) => ({
    tree: fc.oneof({ maxDepth: 4 }, tie('leaf'), tie('both')),
    leaf: fc
      .constantFrom(...ALLOWED_LICENCES, 'GPL-3.0-only', 'MPL-2.0')
      .map((text) => ({ text, allowed: ALLOWED_LICENCES.includes(text) })),
    both: fc.tuple(tie('tree'), fc.constantFrom('AND', 'OR'), tie('tree')).map(([left, operator, right]) => ({
      text: `(${left.text} ${operator} ${right.text})`,
      allowed: operator === 'AND' ? left.allowed && right.allowed : left.allowed || right.allowed,
    })),
  }));

  it('is judged as its parts are, however they are nested', () => {
    fc.assert(
      fc.property(tree, ({ text, allowed }) => {
        expect(isAllowedLicence(text)).toBe(allowed);
      }),
    );
  });
});
