/** The commands that the docs tell their readers to type, taken from the files themselves. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export const README = resolve(import.meta.dirname, '../../../README.md');

/** The `sh` blocks under a heading (`## ...`), each as written, without the fences. */
export function shellBlocks(heading: string, file = README): string[] {
  const text = readFileSync(file, 'utf8');
  const start = text.indexOf(`\n## ${heading}\n`);
  if (start < 0) throw new Error(`${file} has no heading "${heading}"`);
  const end = text.indexOf('\n## ', start + 1);
  const section = text.slice(start, end < 0 ? undefined : end);
  return [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
}
