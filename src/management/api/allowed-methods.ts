/** The methods of each path, for 405 with Allow (RFC 9110 section 15.5.6). Built once from the operations. */
import type { Operation } from './operation.ts';

/** @returns a function: the sorted methods of a path without its query; empty when nothing is served there */
export function methodTable(operations: readonly Operation[]): (path: string) => readonly string[] {
  const rows = [...Map.groupBy(operations, (operation) => operation.path)].map(([path, group]) => {
    const methods = new Set<string>(group.map((operation) => operation.method));
    if (methods.has('GET')) methods.add('HEAD');
    const pattern = path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+');
    return { pattern: new RegExp(`^${pattern}$`), methods: [...methods].sort() };
  });
  return (path) => rows.find((row) => row.pattern.test(path))?.methods ?? [];
}
