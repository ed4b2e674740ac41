/**
 * Parses the paths of the configuration: `gateway_path`, endpoint `path`, `backend_path` and `backend_base_path`. The
 * management API uses these parsers to refuse bad input, the compiler to build tries and upstream paths. Literal parts
 * must be in the canonical form in which requests are matched (http/paths/canonical-path.ts); in any other form they
 * would never match.
 *
 * Errors are texts that follow "Cannot parse path "x": ", for example `must start with "/"`. Does not look at other
 * records: storage and the compiler check whether a path is already taken.
 */
import { canonicalPath, comparablePath } from '../http/paths/canonical-path.ts';

/** Limit of the length of each kind of path, in characters. */
export const PATH_LENGTH_MAX = 1024;
/** Limit of the segments of each kind of path; also bounds the depth of every trie and the work of every match. */
export const PATH_SEGMENTS_MAX = 64;
const PARAMETER_NAME_LENGTH_MAX = 64;
const PARAMETERS_ELSEWHERE = 'must not contain "{" or "}": only the paths of endpoints have parameters';

export interface PathError {
  readonly error: string;
}

export interface EndpointPattern {
  /** As written: a literal (the last one may be empty), `{name}`, or a final `*`. At least one. */
  readonly segments: readonly string[];
  /** Names of the `{name}` segments in order, unique. */
  readonly names: readonly string[];
}

/**
 * Parses the path of an endpoint, relative to the version's `gateway_path`. Each segment is a literal, a whole
 * `{name}`, or, as the last one, `*`, which matches any rest, including the empty one: `/files/*` matches `/files/` but
 * not `/files`. A trailing slash is significant.
 */
export function parseEndpointPath(path: string): EndpointPattern | PathError {
  const segments = splitPath(path);
  if (!Array.isArray(segments)) return segments;
  const names: string[] = [];
  for (const [index, segment] of segments.entries()) {
    const last = index === segments.length - 1;
    if (segment === '*') {
      if (!last) return { error: '"*" is only allowed as the last segment' };
    } else if (isParameter(segment)) {
      const name = segment.slice(1, -1);
      const error = parameterNameError(name);
      if (error !== undefined) return { error };
      if (names.includes(name)) return { error: `the parameter "{${name}}" must not appear twice` };
      names.push(name);
    } else {
      const error = literalError(segment, last) ?? spellingError(segment);
      if (error !== undefined) return { error };
    }
  }
  return { segments, names };
}

/**
 * The path with its parameter names removed. Two endpoint paths with the same shape match exactly the same requests:
 * `/a/{x}` and `/a/{y}` both give `/a/{}`. Only for paths that `parseEndpointPath` accepts.
 */
export function endpointShape(path: string): string {
  return path.replaceAll(/\/\{[^/]*\}/g, '/{}');
}

/**
 * Parses a `gateway_path`: literal canonical segments without a trailing slash, except for `/` itself, which matches
 * everything that no other version matches. `path` is the text as given.
 */
export function parseGatewayPath(text: string): { readonly path: string } | PathError {
  if (text === '/') return { path: text };
  const segments = splitPath(text);
  if (!Array.isArray(segments)) return segments;
  for (const segment of segments) {
    if (segment === '') return { error: 'must not end with "/"' };
    if (segment.includes('%2F')) return { error: 'must not contain an encoded slash' };
    if (segment.includes('*')) return { error: 'must not contain "*"' };
    if (hasBrace(segment)) return { error: PARAMETERS_ELSEWHERE };
    const error = literalError(segment, false) ?? spellingError(segment);
    if (error !== undefined) return { error };
  }
  return { path: text };
}

/** Parses a `backend_base_path`. `path` has no trailing slash, and is empty for `/`. */
export function parseBasePath(text: string): { readonly path: string } | PathError {
  if (text === '/') return { path: '' };
  const segments = splitPath(text);
  if (!Array.isArray(segments)) return segments;
  for (const [index, segment] of segments.entries()) {
    if (hasBrace(segment)) return { error: PARAMETERS_ELSEWHERE };
    const error = literalError(segment, index === segments.length - 1);
    if (error !== undefined) return { error };
  }
  return { path: text.endsWith('/') ? text.slice(0, -1) : text };
}

/**
 * Checks the `backend_path` of an endpoint whose own path has been parsed: literal text with `{name}`s of the
 * endpoint's path, also inside a segment, and a final `*` (replaced by what the endpoint's own `*` matched) if that
 * path has one. Returns undefined when it is valid.
 */
export function backendPathError(text: string, endpoint: EndpointPattern): string | undefined {
  const segments = splitPath(text);
  if (!Array.isArray(segments)) return segments.error;
  for (const [index, segment] of segments.entries()) {
    const last = index === segments.length - 1;
    if (segment === '*') {
      if (!last) return '"*" is only allowed as the last segment';
      if (endpoint.segments.at(-1) !== '*') return '"*" needs an endpoint path that ends with "*", too';
      continue;
    }
    const error = backendSegmentError(segment, last, endpoint);
    if (error !== undefined) return error;
  }
  return undefined;
}

/**
 * These rules restrict what may stand next to a parameter. Without them, a value like ";x" after ".", or an octet of a
 * split UTF-8 sequence, could make a dot segment or an overlong slash. proxy/match.ts checks the remaining case, a
 * value with its own encoded slash.
 */
function backendSegmentError(segment: string, last: boolean, endpoint: EndpointPattern): string | undefined {
  const parameters = segment.match(/\{[^{}]*\}/g) ?? [];
  const unknown = parameters.find((parameter) => !endpoint.names.includes(parameter.slice(1, -1)));
  if (unknown !== undefined) return `"${unknown}" is not a parameter of the endpoint's path`;
  if (parameters.length > 0) {
    if (segment.startsWith('.')) return 'a segment with a parameter must not start with "."';
    if (segment.includes('%2F')) return 'a segment with a parameter must not contain an encoded slash';
    if (segment.includes('}{')) return 'two parameters must have something between them';
    if (/%[89A-F][0-9A-F]\{|\}%[89A-F]/i.test(segment)) {
      return 'a parameter must not stand next to a percent-encoded non-ASCII character';
    }
  }
  // "x" is not a hex digit: "%4{id}" must not become a percent-encoding.
  return literalError(segment.replaceAll(/\{[^{}]*\}/g, 'x'), last);
}

/** Splits at slashes after the checks that all kinds share. */
function splitPath(text: string): string[] | PathError {
  if (!text.startsWith('/')) return { error: 'must start with "/"' };
  if (text.length > PATH_LENGTH_MAX)
    return { error: `must not be longer than ${PATH_LENGTH_MAX} characters` };
  const segments = text.slice(1).split('/');
  if (segments.length > PATH_SEGMENTS_MAX) {
    return { error: `must not have more than ${PATH_SEGMENTS_MAX} segments` };
  }
  return segments;
}

function hasBrace(segment: string): boolean {
  return /[{}]/.test(segment);
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{') && segment.endsWith('}');
}

function parameterNameError(name: string): string | undefined {
  if (name.length > PARAMETER_NAME_LENGTH_MAX) {
    return `a parameter's name must not be longer than ${PARAMETER_NAME_LENGTH_MAX} characters`;
  }
  if (/^[A-Za-z_][A-Za-z0-9_-]*$/.test(name)) return undefined;
  return `the parameter "{${name}}" must be named with letters, digits, "_" and "-", not starting with a digit or "-"`;
}

/** Requests are compared in their comparable spelling, so configured paths must use it. */
function spellingError(segment: string): string | undefined {
  const comparable = comparablePath(segment);
  return comparable === segment ? undefined : `the segment "${segment}" must be written as "${comparable}"`;
}

/** @param last whether an empty segment is allowed: a trailing slash makes one */
function literalError(segment: string, last: boolean): string | undefined {
  if (segment === '') return last ? undefined : 'must not contain "//"';
  if (hasBrace(segment)) return `the segment "${segment}" must be either a literal or a whole "{name}"`;
  if (/[?#]/.test(segment)) return 'must be a path only, without "?" and "#"';
  if (segment.includes('*') && segment.length > 1)
    return `"*" must be a whole segment, not part of "${segment}"`;
  if (segment === '*') return 'must not contain "*"';
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[^\x21-\x7e]/.test(segment)) {
    return `the segment "${segment}" must have spaces, control and non-ASCII characters percent-encoded`;
  }
  const canonical = canonicalPath(`/${segment}`);
  if (typeof canonical !== 'string') return `the segment "${segment}" is not allowed: ${canonical.detail}`;
  if (canonical !== `/${segment}`) {
    return `the segment "${segment}" must be in canonical form: "${canonical.slice(1)}"`;
  }
  return undefined;
}
