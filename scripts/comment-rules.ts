/**
 * The rules about comments: no line of a comment is wider than 120 characters, since the formatter leaves comments as
 * they are, and each page of docs/ that a comment names exists. Pure: checks one source as text; layering.ts runs it
 * over the tree. A comment behind code on the same line is not checked.
 */
import type { Violation } from './layering-rules.ts';

export const COMMENT_CHARACTERS_MAX = 120;

const COMMENT_LINE = /^\s*(?:\/\*|\*(?![\w(])|\/\/)/;
/** A URL cannot be wrapped. */
const URL_ALONE = /^[\s/*]*\S*https?:\/\/\S+$/;
const PAGE = /\bdocs\/[\w./-]+\.md\b/g;

/** @param exists whether a path below the root of the project does */
export function checkComments(path: string, source: string, exists: (path: string) => boolean): Violation[] {
  const found: Violation[] = [];
  for (const [index, line] of source.split('\n').entries()) {
    if (!COMMENT_LINE.test(line)) continue;
    if (line.length > COMMENT_CHARACTERS_MAX && !URL_ALONE.test(line)) {
      const message = `the comment has ${line.length} characters in a line, at most ${COMMENT_CHARACTERS_MAX} are allowed`;
      found.push({ path, line: index + 1, message });
    }
    for (const [page] of line.matchAll(PAGE)) {
      if (!exists(page))
        found.push({ path, line: index + 1, message: `the comment names ${page}, which does not exist` });
    }
  }
  return found;
}
