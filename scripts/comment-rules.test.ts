import { describe, expect, it } from 'vitest';
import { checkComments, COMMENT_CHARACTERS_MAX } from './comment-rules.ts';

const PAGES = new Set(['docs/explanation/engine.md']);
const found = (source: string): string[] =>
  checkComments('src/a.ts', source, (path) => PAGES.has(path)).map(
    ({ line, message }) => `${line}: ${message}`,
  );

const wide = (start: string, length: number): string => start.padEnd(length, 'x');

describe('lines of comments', () => {
  it.each(['// ', '/** ', ' * ', '    // ', '/* '])('are bounded: %s', (start) => {
    expect(found(wide(start, COMMENT_CHARACTERS_MAX))).toEqual([]);
    expect(found(`const a = 1;\n${wide(start, COMMENT_CHARACTERS_MAX + 1)}`)).toEqual([
      '2: the comment has 121 characters in a line, at most 120 are allowed',
    ]);
  });

  it.each([
    wide("const text = '", 200),
    wide('  *generator() ', 200),
    wide('// https://example.org/', 200),
    wide(' * https://example.org/', 200),
  ])('are not what is code or cannot be wrapped: %s', (line) => {
    expect(found(line)).toEqual([]);
  });
});

describe('pages that comments name', () => {
  it('exist', () => {
    expect(found('// see docs/explanation/engine.md')).toEqual([]);
    expect(found('/**\n * The phases (docs/engine.md).\n */')).toEqual([
      '2: the comment names docs/engine.md, which does not exist',
    ]);
  });

  it('are not looked for in code', () => {
    expect(found("const page = 'docs/gone.md';")).toEqual([]);
  });
});
