/**
 * Reads documents that were written for other programs, such as OpenAPI descriptions, as plain data. Unlike in
 * configurations, a duplicate key or an unquoted `no` is not refused, since it may be in an example. Bytes, depth and
 * aliases are bounded, too.
 */
import { parse } from 'yaml';
import { FOREIGN_BYTES_MAX, FOREIGN_DEPTH_MAX } from './foreign-limits.ts';

const ALIASES_MAX = 10_000;
/** A document without aliases has fewer values than bytes; one with aliases may have at least this many. */
const NODES_MIN = 1_000_000;

/** @returns the data, or the problem of the document */
export function readForeign(bytes: Uint8Array): { readonly value: unknown } | { readonly problem: string } {
  if (bytes.byteLength > FOREIGN_BYTES_MAX) return { problem: `it has more than ${FOREIGN_BYTES_MAX} bytes` };
  const text = new TextDecoder('utf-8').decode(bytes);
  try {
    const value: unknown = /^\s*\{/.test(text) ? JSON.parse(text) : parseYaml(text);
    const problem = problemOf(value, Math.max(NODES_MIN, bytes.byteLength));
    return problem === undefined ? { value } : { problem };
  } catch (error) {
    return {
      problem: error instanceof RangeError ? 'it is nested too deep' : (error as Error).message,
    };
  }
}

function parseYaml(text: string): unknown {
  return parse(text, {
    uniqueKeys: false,
    strict: false,
    maxAliasCount: ALIASES_MAX,
    prettyErrors: true,
    logLevel: 'error',
  });
}

/** @param nodesMax limit of the values; those behind an alias count each time */
function problemOf(value: unknown, nodesMax: number): string | undefined {
  let nodes = 0;
  const visit = (member: unknown, depth: number): string | undefined => {
    nodes += 1;
    if (nodes > nodesMax) return 'its aliases stand for too much';
    if (typeof member !== 'object' || member === null) return undefined;
    if (depth > FOREIGN_DEPTH_MAX) return `it is nested deeper than ${FOREIGN_DEPTH_MAX} levels`;
    for (const inner of Object.values(member)) {
      const problem = visit(inner, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
  return visit(value, 1);
}
