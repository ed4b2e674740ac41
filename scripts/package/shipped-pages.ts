/**
 * Markdown pages of the checkout as they lie in a package: links to other pages of the package lead there, and a link
 * to a file that only a checkout has becomes its text.
 *
 *   shipped-pages.ts <tree>   writes the pages of the Debian package below <tree>, the root of its files
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, resolve } from 'node:path';

const PARTS = ['tutorial', 'how-to', 'reference', 'explanation'];
const LINK = /\[((?:[^[\]`]|`[^`]*`)*)\]\(([^()\s]+)\)/g;

/** Path in the checkout → path in the package, of pages and of files that pages link to. */
export type Places = ReadonlyMap<string, string>;

/** @param page path in the checkout, which is one of `places` */
export function shippedPage(page: string, text: string, places: Places): string {
  let fenced = false;
  return text
    .split('\n')
    .map((line) => {
      if (/^\s*(?:```|~~~)/.test(line)) fenced = !fenced;
      return fenced ? line : line.replace(LINK, (...found) => shippedLink(page, found, places));
    })
    .join('\n');
}

function shippedLink(page: string, [link, label, target]: readonly string[], places: Places): string {
  if (link === undefined || target === undefined || /^(?:[a-z][a-z+.-]*:|#)/i.test(target)) return link ?? '';
  const [file = '', anchor] = target.split('#');
  const path = posix.join(posix.dirname(page), file);
  const place = places.get(path) ?? places.get(posix.join(path, 'README.md'));
  if (place === undefined) return label ?? '';
  const to = posix.relative(posix.dirname(places.get(page) ?? page), place);
  return `[${label}](${to}${anchor === undefined ? '' : `#${anchor}`})`;
}

const pagesOf = (root: string): string[] =>
  globSync(`docs/{${PARTS.join(',')}}/**/*.md`, { cwd: root }).sort();

/** Of the npm package, which has its README and its JSON Schema already. */
function npmPlaces(root: string): Places {
  const same = ['docs/README.md', ...pagesOf(root)].map((path): [string, string] => [path, path]);
  return new Map([
    ...same,
    ['README.md', 'README.md'],
    ['docs/reference/configuration.schema.json', 'configuration.schema.json'],
  ]);
}

/** Of the Debian package. The README of the npm package stands where that of a checkout does. */
function debianPlaces(root: string): Places {
  const docs = pagesOf(root);
  return new Map([
    ['README.md', 'usr/share/doc/headgate/README.md'],
    ['docs/README.md', 'usr/share/doc/headgate/index.md'],
    ...docs.map((path): [string, string] => [path, path.replace(/^docs/, 'usr/share/doc/headgate')]),
    ['deploy/observability/README.md', 'usr/share/headgate/observability/README.md'],
    [
      'docs/reference/configuration.schema.json',
      'usr/share/doc/headgate/reference/configuration.schema.json',
    ],
  ]);
}

/** @param kind of the package. @param tree the root of its files */
export function writePages(kind: 'npm' | 'deb', root: string, tree: string): void {
  const places = kind === 'npm' ? npmPlaces(root) : debianPlaces(root);
  for (const [path, place] of places) {
    const text = readFileSync(join(root, path === 'README.md' ? 'deploy/npm/README.md' : path), 'utf8');
    mkdirSync(dirname(join(tree, place)), { recursive: true });
    writeFileSync(join(tree, place), path.endsWith('.md') ? shippedPage(path, text, places) : text);
  }
}

if (import.meta.main) {
  const [tree] = process.argv.slice(2);
  if (tree === undefined)
    throw new Error('Cannot write the pages: the argument must be the root of the package');
  writePages('deb', resolve(import.meta.dirname, '../..'), tree);
}
