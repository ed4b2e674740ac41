/**
 * Reads documents that were written for other programs, such as OpenAPI descriptions, as plain data. Unlike
 * configurations they are taken as they are: a duplicate key or an unquoted `no` in an example is not this program's to
 * refuse. Bounded in bytes, depth and aliases all the same.
 */
import { parse } from 'yaml';

export const FOREIGN_BYTES_MAX = 64 * 1024 * 1024;
export const FOREIGN_DEPTH_MAX = 200;
const ALIASES_MAX = 10_000;

/** @returns the data, or what is wrong with the document */
export function readForeign(bytes: Uint8Array): { readonly value: unknown } | { readonly problem: string } {
  if (bytes.byteLength > FOREIGN_BYTES_MAX) return { problem: `it has more than ${FOREIGN_BYTES_MAX} bytes` };
  const text = new TextDecoder('utf-8').decode(bytes);
  try {
    const value: unknown = /^\s*\{/.test(text) ? JSON.parse(text) : parseYaml(text);
    return isTooDeep(value, 1)
      ? { problem: `it is nested deeper than ${FOREIGN_DEPTH_MAX} levels` }
      : { value };
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

function isTooDeep(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth > FOREIGN_DEPTH_MAX || Object.values(value).some((member) => isTooDeep(member, depth + 1));
}
