/** Colour for people: only on a terminal, and unless NO_COLOR (no-color.org) or TERM=dumb forbids it. */
import type { CliIo } from '../io.ts';

/** Parameters of SGR (ECMA-48). */
const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;
type Style = keyof typeof STYLES;

export type Paint = (style: Style, text: string) => string;

export function usesColour({ isTerminal, env }: CliIo): boolean {
  return isTerminal && (env('NO_COLOR') ?? '') === '' && env('TERM') !== 'dumb';
}

/** @returns a function that leaves the text unchanged when colour is not used */
export function painter(io: CliIo): Paint {
  if (!usesColour(io)) return (_style, text) => text;
  return (style, text) => `\u001B[${STYLES[style]}m${text}\u001B[0m`;
}
