/** Fuzzer of the path canonicaliser. */
import { canonicalPath } from '../../src/http/paths/canonical-path.ts';
import { climbsOut, isPlainPath, lenientPath } from '../../src/http/paths/lenient-path.ts';
import { check, checkEqual, type Fuzzer } from './fuzzer.ts';
import { somePath } from './messages.ts';
import { referencePath } from './reference/path.ts';

export const pathFuzzer: Fuzzer = {
  name: 'paths',
  step: (random) => {
    const raw = somePath(random);
    const canonical = canonicalPath(raw);
    checkEqual(
      typeof canonical === 'string' ? canonical : undefined,
      referencePath(raw),
      `Twin differs on ${JSON.stringify(raw)}`,
    );
    if (typeof canonical !== 'string') return;
    checkEqual(canonicalPath(canonical), canonical, `Not idempotent: ${JSON.stringify(raw)}`);
    const lenient = lenientPath(canonical);
    check(lenient.startsWith('/'), `No path: ${JSON.stringify(lenient)}`);
    check(!isPlainPath(canonical) || lenient === canonical, `A plain path is read as another: ${canonical}`);
    check(!climbsOut(canonical) || canonical.includes('%'), `A path without encodings climbs: ${canonical}`);
    // What a backend would make of it that decodes everything and resolves dot segments must stay where it was.
    const climbs = decodeLatin1(canonical)
      .split(/[/\\]/)
      .some((segment) => /^\.\.?(;.*)?$/.test(segment));
    check(!climbs, `A dot segment is left in ${canonical}`);
    check(!canonical.startsWith('//'), `A network path is left: ${canonical}`);
  },
};

function decodeLatin1(path: string): string {
  return path.replace(/%[0-9A-F]{2}/g, (octet) => String.fromCharCode(Number.parseInt(octet.slice(1), 16)));
}
