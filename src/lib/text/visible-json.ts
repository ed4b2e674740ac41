/**
 * JSON without characters that control a terminal or change the direction of text: they are escaped, so that the
 * data stays the same. Also without characters that YAML allows only as an escape, or that some of its readers take
 * for the end of a line. Pure.
 */
import { TERMINAL_CONTROLS } from './terminal-controls.ts';

/** JSON.stringify escapes those below U+0020 itself. Such a character is always inside a text. */
const UNSAFE = new RegExp(String.raw`[${TERMINAL_CONTROLS}\uFEFF\uFFFE\uFFFF]`, 'g');

/** @param value plain data */
export function visibleJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replaceAll(UNSAFE, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
