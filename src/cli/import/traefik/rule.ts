/**
 * Parses rules of Traefik's routers: matchers with `&&`, `||`, `!` and parentheses, as a list of alternatives, each
 * a list of matchers that must all match. Pure.
 */

export interface Matcher {
  readonly name: string;
  readonly args: readonly string[];
  readonly isNegated: boolean;
}

const ALTERNATIVES_MAX = 64;
const DEPTH_MAX = 50;
const TOKEN = /\s*(?:(&&|\|\||!|\(|\))|([A-Za-z]+)\((\s*(?:(?:`[^`]*`|"(?:[^"\\]|\\.)*")(?:\s*,)?\s*)*)\))/y;

/** @returns undefined when the rule is invalid or has too many alternatives */
export function readRule(text: string): readonly (readonly Matcher[])[] | undefined {
  const tokens = tokensOf(text);
  if (tokens === undefined) return undefined;
  const parser = new Parser(tokens);
  const found = parser.either(0, false);
  return found !== undefined && parser.isAtEnd ? found : undefined;
}

type Token = string | Matcher;

function tokensOf(text: string): Token[] | undefined {
  const tokens: Token[] = [];
  const source = text.trim();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < source.length) {
    const match = TOKEN.exec(source);
    if (match === null) return undefined;
    const [, sign, name = '', args = ''] = match;
    if (sign !== undefined) tokens.push(sign);
    else {
      const texts = args.match(/`[^`]*`|"(?:[^"\\]|\\.)*"/g) ?? [];
      tokens.push({ name, args: texts.map(textIn), isNegated: false });
    }
  }
  return tokens;
}

/** The text in quotes. As in Go, a backslash in double quotes escapes the character after it. */
function textIn(quoted: string): string {
  const text = quoted.slice(1, -1);
  return quoted.startsWith('"') ? text.replaceAll(/\\(.)/g, '$1') : text;
}

type Alternatives = readonly (readonly Matcher[])[];

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#tokens.length;
  }

  /** @param negated by De Morgan's laws, negating an expression swaps its operators */
  either(depth: number, negated: boolean): Alternatives | undefined {
    let found = this.#both(depth, negated);
    while (found !== undefined && this.#tokens[this.#at] === '||') {
      this.#at += 1;
      const more = this.#both(depth, negated);
      found = more && (negated ? combined(found, more) : bounded([...found, ...more]));
    }
    return found;
  }

  #both(depth: number, negated: boolean): Alternatives | undefined {
    let found = this.#one(depth, negated);
    while (found !== undefined && this.#tokens[this.#at] === '&&') {
      this.#at += 1;
      const more = this.#one(depth, negated);
      found = more && (negated ? bounded([...found, ...more]) : combined(found, more));
    }
    return found;
  }

  #one(depth: number, negated: boolean): Alternatives | undefined {
    const token = this.#tokens[this.#at++];
    if (depth > DEPTH_MAX || token === undefined) return undefined;
    if (token === '!') return this.#one(depth + 1, !negated);
    if (token === '(') {
      const inner = this.either(depth + 1, negated);
      return this.#tokens[this.#at++] === ')' ? inner : undefined;
    }
    return typeof token === 'string' ? undefined : [[{ ...token, isNegated: negated }]];
  }
}

function combined(one: Alternatives, other: Alternatives): Alternatives | undefined {
  if (one.length * other.length > ALTERNATIVES_MAX) return undefined;
  return one.flatMap((a) => other.map((b) => [...a, ...b]));
}

function bounded(alternatives: Alternatives): Alternatives | undefined {
  return alternatives.length > ALTERNATIVES_MAX ? undefined : alternatives;
}
