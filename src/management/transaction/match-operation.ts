/** Finds the operation of a method and a path, as the server does, with the path's parameters and its query. Pure. */
import { fail, type Failure } from '../api/failure.ts';
import type { Operation } from '../api/operation.ts';

export interface MatchedOperation {
  readonly operation: Operation;
  readonly params: Readonly<Record<string, string>>;
  /** In the form for `parseQuery`: a repeated parameter is a list. */
  readonly query: Readonly<Record<string, unknown>>;
}

export type MatchOperation = (method: string, target: string) => MatchedOperation | Failure;

interface Row {
  readonly operation: Operation;
  readonly segments: readonly string[];
}

export function operationMatcher(operations: readonly Operation[]): MatchOperation {
  const rows: Row[] = operations.map((operation) => ({ operation, segments: operation.path.split('/') }));
  // A segment that is a name in one path may be a parameter in another; the name goes first.
  const ordered = rows.toSorted((a, b) => parameters(a) - parameters(b));
  return (method, target) => {
    const [path = '', ...rest] = target.split('?');
    const segments = path.split('/');
    const here = ordered.filter((row) => fits(row.segments, segments));
    const row = here.find(({ operation }) => operation.method === method);
    if (row !== undefined) {
      const params = paramsOf(row.segments, segments);
      if (params === undefined)
        return fail('bad_request', `The path "${path}" has a malformed percent-encoding`);
      return { operation: row.operation, params, query: queryOf(rest.join('?')) };
    }
    if (here.length === 0) return fail('not_found', `There is nothing at "${path}"`);
    const allowed = here.map(({ operation }) => operation.method).sort();
    const detail = `${method} is not available at "${path}", only ${allowed.join(', ')}`;
    return fail('management_method_not_allowed', detail);
  };
}

const isParameter = (segment: string): boolean => segment.startsWith('{');

const parameters = ({ segments }: Row): number => segments.filter(isParameter).length;

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((step, index) => (isParameter(step) ? segments[index] !== '' : step === segments[index]))
  );
}

/** undefined: a percent-encoding is malformed. */
function paramsOf(
  pattern: readonly string[],
  segments: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const params: Record<string, string> = {};
  try {
    for (const [index, step] of pattern.entries()) {
      if (isParameter(step)) params[step.slice(1, -1)] = decodeURIComponent(segments[index] ?? '');
    }
  } catch {
    return undefined;
  }
  return params;
}

function queryOf(text: string): Readonly<Record<string, unknown>> {
  const query = Object.create(null) as Record<string, unknown>;
  const search = new URLSearchParams(text);
  for (const name of new Set(search.keys())) {
    const values = search.getAll(name);
    query[name] = values.length === 1 ? values[0] : values;
  }
  return query;
}
