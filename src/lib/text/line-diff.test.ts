import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineEdits, unifiedDiff } from './line-diff.ts';

const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd', ''), { maxLength: 30 });

/** The slow, obvious twin: how many lines the longest common subsequence has. */
function commonLines(a: readonly string[], b: readonly string[]): number {
  const table = Array.from({ length: a.length + 1 }, () => Array.from({ length: b.length + 1 }, () => 0));
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      table[i]![j] =
        a[i - 1] === b[j - 1] ? table[i - 1]![j - 1]! + 1 : Math.max(table[i - 1]![j]!, table[i]![j - 1]!);
    }
  }
  return table[a.length]![b.length]!;
}

describe('the difference of two texts', () => {
  it('has every line of both, in order, and keeps as many as can be kept', () => {
    fc.assert(
      fc.property(lines, lines, (a, b) => {
        const edits = lineEdits(a, b);
        expect(edits.filter(([sign]) => sign !== '+').map(([, line]) => line)).toEqual(a);
        expect(edits.filter(([sign]) => sign !== '-').map(([, line]) => line)).toEqual(b);
        expect(edits.filter(([sign]) => sign === ' ')).toHaveLength(commonLines(a, b));
      }),
    );
  });

  it('is a diff that git apply takes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-diff-'));
    try {
      fc.assert(
        fc.property(lines, lines, (a, b) => {
          const [before, after] = [a, b].map((each) => each.map((line) => `${line}\n`).join('')) as [
            string,
            string,
          ];
          fc.pre(before !== after && before !== '' && after !== '');
          writeFileSync(join(folder, 'x'), before);
          const diff = unifiedDiff(before, after, ['a/x', 'b/x']);
          execFileSync('git', ['apply', '--unidiff-zero', '--whitespace=nowarn', '-'], {
            cwd: folder,
            input: diff,
          });
          expect(execFileSync('cat', ['x'], { cwd: folder, encoding: 'utf8' })).toBe(after);
        }),
        { numRuns: 20 },
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('shows context, and one hunk for what is near', () => {
    const text = (...changed: readonly number[]): string =>
      Array.from({ length: 30 }, (_, at) => `line ${at}${changed.includes(at) ? ' new' : ''}\n`).join('');
    expect(unifiedDiff(text(), text(), ['a', 'b'])).toBe('');
    expect(unifiedDiff(text(), text(10), ['a', 'b'])).toBe(
      '--- a\n+++ b\n@@ -8,7 +8,7 @@\n line 7\n line 8\n line 9\n-line 10\n+line 10 new\n line 11\n line 12\n line 13\n',
    );
    expect(unifiedDiff(text(), text(5, 12), ['a', 'b']).match(/^@@ /gm)).toHaveLength(1);
    expect(unifiedDiff(text(), text(5, 13), ['a', 'b']).match(/^@@ /gm)).toHaveLength(2);
  });

  it('shows what differs everywhere as replaced, soon', () => {
    const many = (word: string): string[] => Array.from({ length: 20_000 }, (_, at) => `${word} ${at}`);
    const edits = lineEdits(['same', ...many('a')], ['same', ...many('b')]);
    expect(edits).toHaveLength(40_001);
    expect(edits[0]).toEqual([' ', 'same']);
  });
});
