/**
 * Turns paths of Kong's routes into patterns. A plain path is a prefix. A path with `~` (before format 3.0: any path
 * with characters of a regular expression) is a regular expression that is anchored only at the start. The simple
 * ones have an equivalent pattern of segments that are literal or match any one segment.
 */
import type { SegmentMatchers } from '../imported-route.ts';
import { isParameter, literalSegments, type Segments } from '../route-patterns.ts';

interface Problem {
  readonly problem: string;
  /** The path is a regular expression. */
  readonly isRegex: boolean;
}

export interface KongPath {
  readonly isRegex: boolean;
  /** The segments of each pattern; a path that may end in several ways has several patterns. */
  readonly patterns: readonly Segments[];
  /** The number of leading segments that `strip_path` removes from each pattern. */
  readonly stripped: number;
  /** The last segment of the patterns is the beginning of longer ones. */
  readonly isTextPrefix: boolean;
  /** A segment of the patterns matches more than its part of the path. */
  readonly isWider: boolean;
  /** How the patterns differ from the path. */
  readonly differences: readonly string[];
}

/** @returns the patterns, or why there are none, as a sentence without its subject */
export function readKongPath(text: string, regexWithoutTilde: boolean): KongPath | Problem {
  if (text.startsWith('~')) return readRegex(text.slice(1));
  if (regexWithoutTilde && /[^A-Za-z0-9._~\-/%]/.test(text)) return readRegex(text);
  return readPrefix(text);
}

const WITHOUT_SLASH = 'is also answered without the slash at the end';

function readPrefix(text: string): KongPath | Problem {
  const segments = literalSegments(text);
  if (segments === undefined)
    return { problem: 'is not a path that a request can have here', isRegex: false };
  const endsWithSlash = segments.at(-1) === '';
  const prefix = endsWithSlash ? segments.slice(0, -1) : segments;
  return {
    isRegex: false,
    patterns: [[...prefix, '*']],
    stripped: prefix.length,
    isTextPrefix: !endsWithSlash,
    isWider: false,
    differences: endsWithSlash ? [WITHOUT_SLASH] : [],
  };
}

const ONE_SEGMENT = '[^/]+';
/** One or more characters of one class, optionally several such runs with dashes between them. */
const CLASS = String.raw`(?:\\[dw]|\[(?:[^\]\\]|\\.)+\])`;
const RUN = String.raw`${CLASS}(?:\+|\*|\{\d+(?:,\d*)?\})?`;
const RUNS = new RegExp(`^${RUN}(?:(?:-|\\\\-|_|\\\\\\.)?${RUN})*$`);
/** What may match a slash: other classes than these, and excluding ones. */
const BEYOND_SEGMENT = /\[\^|\/|\\(?![dsw])[A-Za-z0-9]/;
const GROUP = /^\((?:\?:|\?P?<([A-Za-z_]\w*)>)?(.*)\)$/;

function readRegex(source: string): KongPath | Problem {
  let rest = source.replace(/^\^/, '');
  const isWhole = /(?<!\\)\$$/.test(rest);
  if (isWhole) rest = rest.slice(0, -1);
  const maySlash = isWhole && rest.endsWith('/?');
  if (maySlash) rest = rest.slice(0, -2);
  const parts = splitSegments(rest);
  if (parts === undefined || parts[0] !== '') return { problem: NOT_PLAIN, isRegex: true };
  const differences: string[] = [];
  const segments: string[] = [];
  let isWider = false;
  for (const [index, part] of parts.slice(1).entries()) {
    const isLast = index === parts.length - 2;
    const segment = segmentOf(part, isLast, segments.length + 1, differences);
    if (segment === undefined) return { problem: NOT_PLAIN, isRegex: true };
    // A rest that is not empty.
    if (segment === '*' && part.includes('+')) segments.push(`{p${segments.length + 1}}`);
    segments.push(segment);
    isWider ||= isParameter(segment) && !isAnySegment(part);
  }
  if (segments.at(-1) === '*') {
    return {
      isRegex: true,
      patterns: [segments],
      stripped: parts.length - 2,
      isTextPrefix: false,
      isWider,
      differences,
    };
  }
  const endsWithSlash = segments.at(-1) === '';
  const base = endsWithSlash ? segments.slice(0, -1) : segments;
  if (endsWithSlash && !isWhole) differences.push(WITHOUT_SLASH);
  const patterns = isWhole ? [segments, ...(maySlash ? [[...segments, '']] : [])] : [[...base, '*']];
  const isTextPrefix = !isWhole && !endsWithSlash;
  return { isRegex: true, patterns, stripped: base.length, isTextPrefix, isWider, differences };
}

export interface WiderPath {
  readonly segments: Segments;
  readonly matchers: SegmentMatchers;
}

/** A pattern for every path that a regular expression may match, apart from longer last segments. */
export function widerThanRegex(text: string): WiderPath {
  const source = text.replace(/^~?\^?/, '');
  const isWhole = /(?<!\\)\$$/.test(source);
  // An alternative may begin in another way.
  const parts = hasAlternatives(source) ? undefined : splitSegments(isWhole ? source.slice(0, -1) : source);
  const segments: string[] = [];
  const matchers: (RegExp | undefined)[] = [];
  if (parts?.[0] !== '') return { segments: ['*'], matchers };
  for (let index = 1; index < parts.length; index++) {
    const [part = '', next = ''] = parts.slice(index, index + 2);
    const segment = widerSegment(part, index);
    // A quantifier there is about the slash.
    if (segment === undefined || /^[?*+{]/.test(next)) return { segments: [...segments, '*'], matchers };
    segments.push(segment);
    const isEnd = isWhole || index < parts.length - 1;
    matchers.push(WORDS.test(part) ? new RegExp(`^(?:${part})${isEnd ? '$' : ''}`) : undefined);
  }
  return { segments: isWhole ? segments : [...segments, '*'], matchers };
}

/** A word, or a group of them. */
const WORDS = /^[\w-]+$|^\((?:\?:)?[\w-]+(?:\|[\w-]+)*\)$/;

/** A segment for all that a part of a regular expression matches; undefined if that may be nothing, or a slash. */
function widerSegment(part: string, number: number): string | undefined {
  const dots: string[] = [];
  const literal = literalOf(part, dots);
  if (literal !== undefined && literal !== '' && dots.length === 0)
    return literalSegments(`/${literal}`)?.join('/');
  const body = GROUP.exec(part)?.[2] ?? part;
  const isBounded = WORDS.test(part) || isAnySegment(part) || (isOneSegment(body) && !/\*|\{0/.test(body));
  return isBounded ? `{p${number}}` : undefined;
}

/** The literal beginning of a text, up to the last slash, and anything below it. */
export function literalBeginning(text: string): Segments {
  const [plain = ''] = /^[A-Za-z0-9/_~%-]*/.exec(text) ?? [];
  return [...(literalSegments(plain.slice(0, Math.max(plain.lastIndexOf('/'), 0))) ?? []), '*'];
}

/** Whether there is a `|` outside of groups. What cannot be told counts as one. */
function hasAlternatives(source: string): boolean {
  let depth = 0;
  for (const [sign] of source.matchAll(/\\.|\[(?:\\.|[^\]\\])*\]|[()|]/gs)) {
    if (sign === '(') depth += 1;
    else if (sign === ')') depth -= 1;
    else if (sign === '|' && depth === 0) return true;
    if (depth < 0) return true;
  }
  return false;
}

const NOT_PLAIN = 'is a regular expression that a path with {name} segments and a final * cannot express';

/** Splits at slashes outside of brackets and groups. */
function splitSegments(source: string): string[] | undefined {
  const parts = [''];
  let depth = 0;
  let inClass = false;
  for (let index = 0; index < source.length; index++) {
    const sign = source.charAt(index);
    if (sign === '\\') {
      const escaped = source.charAt(++index);
      // `\/` is also a slash.
      if (escaped === '/' && depth === 0 && !inClass) parts.push('');
      else parts[parts.length - 1] += `\\${escaped}`;
      continue;
    }
    if (inClass) inClass = sign !== ']';
    else if (sign === '[') inClass = true;
    else if (sign === '(') depth += 1;
    else if (sign === ')') depth -= 1;
    else if (sign === '/' && depth === 0) {
      parts.push('');
      continue;
    }
    parts[parts.length - 1] += sign;
  }
  return depth === 0 && !inClass ? parts : undefined;
}

function segmentOf(part: string, isLast: boolean, number: number, differences: string[]): string | undefined {
  if (part === '') return isLast ? '' : undefined;
  const [, name, inner] = GROUP.exec(part) ?? [];
  const body = inner ?? part;
  const parameter = `{${name ?? `p${number}`}}`;
  if (isAnySegment(part)) return parameter;
  if (isLast && (body === '.*' || body === '.+')) return '*';
  if (isOneSegment(body)) {
    differences.push(`matches any one segment in place of ${body}`);
    return parameter;
  }
  const literal = literalOf(part, differences);
  return literal === undefined ? undefined : literalSegments(`/${literal}`)?.join('/');
}

/** Whether a part of a regular expression matches any segment, as a parameter does. */
function isAnySegment(part: string): boolean {
  const body = GROUP.exec(part)?.[2] ?? part;
  return body === ONE_SEGMENT || body === String.raw`[^\/]+`;
}

/** Whether a regular expression matches characters of certain classes, and never a slash. */
export function isOneSegment(body: string): boolean {
  if (!RUNS.test(body) || BEYOND_SEGMENT.test(body)) return false;
  return [...body.matchAll(new RegExp(CLASS, 'g'))].every(([characters]) => !hasSlash(characters));
}

/** Whether a class has the slash, for example in a range. */
function hasSlash(characters: string): boolean {
  try {
    return new RegExp(`^${characters}$`).test('/');
  } catch {
    return true;
  }
}

/** A regular expression without operators, as the text that it matches. */
function literalOf(part: string, differences: string[]): string | undefined {
  let text = '';
  for (let index = 0; index < part.length; index++) {
    const sign = part.charAt(index);
    if (sign === '\\') {
      const escaped = part.charAt(++index);
      if (!/[.\-_~+*?()[\]{}^$|]/.test(escaped)) return undefined;
      text += escaped;
    } else if (sign === '.') {
      differences.push('has a dot that stands for a dot only, not for any character');
      text += '.';
    } else if (/[A-Za-z0-9_~%\-@!,;:=&']/.test(sign)) text += sign;
    else return undefined;
  }
  return text;
}
