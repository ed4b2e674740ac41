/**
 * Paths of other gateways as segments: literals in canonical form, `{name}` for any one segment, and a final `*` for
 * any rest. Pure functions over such patterns: the requests that two patterns share, and the part of a pattern below
 * a prefix.
 */
import { canonicalPath, comparablePath } from '../../http/paths/canonical-path.ts';

export type Segments = readonly string[];

/**
 * The segments of a literal path in the form in which requests are matched; undefined when no request has this
 * path.
 */
export function literalSegments(path: string): string[] | undefined {
  if (!path.startsWith('/') || /[{}*?#]/.test(path)) return undefined;
  const canonical = canonicalPath(path);
  if (typeof canonical !== 'string') return undefined;
  const comparable = comparablePath(canonical);
  if (comparable.includes('%2F')) return undefined;
  return comparable === '/' ? [] : comparable.slice(1).split('/');
}

export function isParameter(segment: string): boolean {
  return segment.startsWith('{');
}

export function isLiteral(segment: string): boolean {
  return segment !== '*' && !isParameter(segment);
}

/** The pattern for the requests that both match, or undefined. Names of parameters are those of `one`. */
export function intersection(one: Segments, other: Segments): Segments | undefined {
  const shared: string[] = [];
  for (let index = 0; ; index++) {
    const a = one[index];
    const b = other[index];
    if (a === '*' && b !== undefined) return [...shared, ...withNames(other.slice(index))];
    if (b === '*' && a !== undefined) return [...shared, ...one.slice(index)];
    if (a === undefined && b === undefined) return shared;
    if (a === undefined || b === undefined) return undefined;
    if (isParameter(a) && b !== '') shared.push(isParameter(b) ? a : b);
    else if ((isParameter(b) && a !== '') || a === b) shared.push(a);
    else return undefined;
  }
}

/** The patterns for the requests that both match. */
export function sharedPaths(one: Segments, other: Segments): Segments[] {
  const both = intersection(one, other);
  if (both !== undefined) return [both];
  return waysOf(one).flatMap((a) => waysOf(other).flatMap((b) => listed(intersection(a, b))));
}

/** A final `*` also matches the path before it. */
export function waysOf(path: Segments): Segments[] {
  return path.length > 1 && path.at(-1) === '*' ? [path, path.slice(0, -1)] : [path];
}

export function listed(path: Segments | undefined): Segments[] {
  return path === undefined ? [] : [path];
}

/** The segments with parameter names that no other pattern uses. */
function withNames(segments: Segments): string[] {
  return segments.map((segment, index) => (isParameter(segment) ? `{m${index}}` : segment));
}

/** The pattern without names: patterns of the same shape match the same requests. */
export function shapeOf(segments: Segments): string {
  return segments.map((segment) => (isParameter(segment) ? '{}' : segment)).join('/');
}

/** The literal segments at the beginning of the pattern. */
export function literalPrefix(segments: Segments): Segments {
  const end = segments.findIndex((segment) => !isLiteral(segment));
  return end < 0 ? segments : segments.slice(0, end);
}

/**
 * The part of a pattern below a literal prefix; undefined when it matches nothing there. The prefix itself has
 * one empty segment below it, with and without a trailing slash.
 */
export function below(segments: Segments, prefix: Segments): Segments | undefined {
  for (const [index, literal] of prefix.entries()) {
    const segment = segments[index];
    if (segment === '*') return ['*'];
    if (segment === undefined || (segment !== literal && !isParameter(segment))) return undefined;
  }
  const rest = segments.slice(prefix.length);
  return rest.length === 0 ? [''] : rest;
}

/** The segments as a path; without segments `/`. */
export function pathOf(segments: Segments): string {
  return `/${segments.join('/')}`;
}
