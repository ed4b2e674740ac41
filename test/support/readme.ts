/** The commands that README.md tells its readers to type, taken from the file itself. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export const README = resolve(import.meta.dirname, '../../README.md');

/** The `sh` blocks under a heading (`## ...`), each as written, without the fences. */
export function shellBlocks(heading: string): string[] {
  const text = readFileSync(README, 'utf8');
  const start = text.indexOf(`\n## ${heading}\n`);
  if (start < 0) throw new Error(`README.md has no heading "${heading}"`);
  const end = text.indexOf('\n## ', start + 1);
  const section = text.slice(start, end < 0 ? undefined : end);
  return [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
}
