/** The links of the Markdown pages in an unpacked or installed package. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brokenLinks } from '../../../scripts/docs/mentions.ts';

/** Links that lead to no file below the folder, or to no heading of one, each as `page: target`. */
export function brokenLinksBelow(folder: string, pages = '{*,!(program)/**/*}.md'): string[] {
  const project = {
    exists: (path: string) => existsSync(join(folder, path)),
    read: (path: string) => readFileSync(join(folder, path), 'utf8'),
  };
  const found = globSync(pages, { cwd: folder });
  if (found.length === 0) throw new Error(`Cannot check links: no page in ${folder} fits ${pages}`);
  return found.flatMap((page) => {
    // What stands in code is no link.
    const text = project.read(page).replace(/^```[^]*?^```/gm, '');
    return brokenLinks(page, text.replace(/`[^`\n]*`/g, ''), project).map((target) => `${page}: ${target}`);
  });
}
