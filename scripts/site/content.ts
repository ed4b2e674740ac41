/**
 * The pages of the docs as the site generator wants them: the title from the first heading, links to other pages as
 * links of the site, links to sources as plain paths. Pure; docs-site.ts reads and writes the files.
 */
import { posix } from 'node:path';

export interface SitePage {
  /** Below the content folder of the site: `reference/settings.md`, `index.md`. */
  readonly path: string;
  readonly text: string;
}

export type SidebarEntry =
  | { readonly label: string; readonly link: string }
  | { readonly label: string; readonly items: readonly SidebarEntry[]; readonly collapsed?: boolean };

/** The parts of the docs in the order of the sidebar; each is a folder of docs/. */
const PARTS: readonly (readonly [folder: string, label: string])[] = [
  ['tutorial', 'Tutorial'],
  ['how-to', 'How-to'],
  ['reference', 'Reference'],
  ['explanation', 'Explanation'],
  ['internal', 'For contributors'],
];
const CONTENTS = 'docs/README.md';
/** Pages outside of docs/ with their place on the site. */
const OTHER_PAGES: ReadonlyMap<string, string> = new Map([
  ['README.md', 'start.md'],
  ['CONTRIBUTING.md', 'contributing.md'],
]);
/** Pages outside of docs/ that a reader of the site looks for. */
export const OTHER_PATHS: readonly string[] = [...OTHER_PAGES.keys()];

/** Parts that readers rarely want. */
const COLLAPSED: ReadonlySet<string> = new Set(['internal']);

/** A table of more columns than this whose last is "Meaning" lists fields. */
const PLAIN_TABLE_COLUMNS_MAX = 2;
/** Columns whose cells say by themselves what they are. */
const UNLABELLED: ReadonlySet<string> = new Set(['Type', 'Written', 'Status']);

const LINK = /\[((?:[^[\]`]|`[^`]*`)*)\]\(([^()\s]+)\)/g;

/** @param pages texts by path, `docs/reference/settings.md` */
export function sitePages(pages: ReadonlyMap<string, string>): SitePage[] {
  return [...pages].map(([path, text]) => {
    const { title, body } = splitTitle(path, text);
    const frontmatter = [
      `title: ${JSON.stringify(title)}`,
      ...(path === CONTENTS ? ['tableOfContents: false'] : []),
    ];
    return {
      path: contentPath(path),
      text: `---\n${frontmatter.join('\n')}\n---\n\n${siteBody(path, body, pages)}`,
    };
  });
}

/**
 * Folders become groups; the page of a folder (README.md) is its first entry. Pages that docs/README.md lists have its
 * order and its groups; the others follow by title, then folders.
 */
export function siteSidebar(pages: ReadonlyMap<string, string>): SidebarEntry[] {
  const listed = listedPages(pages);
  const parts = PARTS.filter(([folder]) =>
    [...pages.keys()].some((path) => path.startsWith(`docs/${folder}/`)),
  ).map(([folder, label]) => ({
    label,
    ...(COLLAPSED.has(folder) && { collapsed: true }),
    items: [
      ...(folder === 'internal' ? otherEntry('CONTRIBUTING.md', 'Contributing', pages) : []),
      ...entriesOf(`docs/${folder}/`, pages, listed),
    ],
  }));
  return [...otherEntry('README.md', 'Start', pages), ...parts];
}

function otherEntry(path: string, label: string, pages: ReadonlyMap<string, string>): SidebarEntry[] {
  return pages.has(path) ? [{ label, link: siteAddress(path) }] : [];
}

/** The pages in the order of the table of contents, each with the group it is listed in. */
function listedPages(pages: ReadonlyMap<string, string>): ReadonlyMap<string, string | undefined> {
  const listed = new Map<string, string | undefined>();
  let group: string | undefined;
  for (const line of (pages.get(CONTENTS) ?? '').split('\n')) {
    if (line.startsWith('## ')) group = undefined;
    group = /^\*\*(.+)\*\*$/.exec(line)?.[1] ?? group;
    for (const [, , target = ''] of line.startsWith('- ') ? line.matchAll(LINK) : []) {
      const path = posix.join('docs', target.split('#', 1)[0] ?? '');
      if (!listed.has(path)) listed.set(path, group);
    }
  }
  return listed;
}

/** The address of a page on the site: `/reference/settings/`. */
export function siteAddress(path: string): string {
  const name = contentPath(path)
    .replace(/(?:^|\/)index\.md$/, '')
    .replace(/\.md$/, '');
  return name === '' ? '/' : `/${name}/`;
}

function contentPath(path: string): string {
  return OTHER_PAGES.get(path) ?? path.replace(/^docs\//, '').replace(/README\.md$/, 'index.md');
}

function splitTitle(path: string, text: string): { readonly title: string; readonly body: string } {
  const heading = /^# (.+)\n/m.exec(text);
  if (heading?.[1] === undefined) throw new Error(`Cannot put ${path} on the site: it has no heading "# …"`);
  return {
    title: heading[1].replaceAll('`', ''),
    body: text.slice(heading.index + heading[0].length).trimStart(),
  };
}

function siteBody(page: string, body: string, pages: ReadonlyMap<string, string>): string {
  const lines: string[] = [];
  let fenced = false;
  let columns: readonly string[] | undefined;
  for (const line of body.split('\n')) {
    if (/^\s*(?:```|~~~)/.test(line)) fenced = !fenced;
    const linked = fenced
      ? line
      : line.replace(LINK, (link, label: string, target: string) =>
          siteLink(page, link, label, target, pages),
        );
    const isRow = !fenced && line.startsWith('| ');
    if (isRow && columns === undefined && isFieldTable(line)) {
      columns = cellsOf(line);
      lines.push('<div class="fields">', '', linked);
    } else if (!isRow && columns !== undefined) {
      columns = undefined;
      lines.push('', '</div>', linked);
    } else lines.push(columns === undefined ? linked : labelledRow(linked, columns));
  }
  return lines.join('\n');
}

/** A table with a row for each field, setting or call: shown as a list, since it is too wide for most screens. */
function isFieldTable(head: string): boolean {
  const columns = cellsOf(head);
  return columns.length > PLAIN_TABLE_COLUMNS_MAX && columns.at(-1) === 'Meaning';
}

const cellsOf = (line: string): string[] => line.slice(2, -2).split(/ (?<!\\)\| /);

/** In a list the head of the table is not seen: cells between name and meaning say what they are. */
function labelledRow(line: string, columns: readonly string[]): string {
  const cells = cellsOf(line).map((cell, index) => {
    const column = columns[index] ?? '';
    const isPlain = index === 0 || index === columns.length - 1 || UNLABELLED.has(column);
    return isPlain || cell.trim() === '' || cell.startsWith('---')
      ? cell
      : `${column.toLowerCase()}: ${cell}`;
  });
  return `| ${cells.join(' | ')} |`;
}

function siteLink(
  page: string,
  link: string,
  label: string,
  target: string,
  pages: ReadonlyMap<string, string>,
): string {
  if (/^(?:[a-z][a-z+.-]*:|#)/i.test(target)) return link;
  const [file = '', anchor] = target.split('#');
  const path = posix.join(posix.dirname(page), file);
  const found = [path, posix.join(path, 'README.md')].find((candidate) => pages.has(candidate));
  if (found !== undefined)
    return `[${label}](${siteAddress(found)}${anchor === undefined ? '' : `#${anchor}`})`;
  // A file of the project that is no page.
  return label.includes(posix.basename(path)) ? label : `${label} (\`${path}\`)`;
}

function entriesOf(
  folder: string,
  pages: ReadonlyMap<string, string>,
  listed: ReadonlyMap<string, string | undefined>,
): SidebarEntry[] {
  const inside = [...pages].filter(([path]) => path.startsWith(folder));
  const places = new Map([...listed.keys()].map((path, index) => [path, index]));
  const place = (path: string): number =>
    path.endsWith('/README.md') ? -1 : (places.get(path) ?? places.size);
  const own = inside
    .filter(([path]) => !path.slice(folder.length).includes('/'))
    .map(([path, text]) => ({
      path,
      label: path.endsWith('/README.md') ? 'Overview' : splitTitle(path, text).title,
    }))
    .sort((a, b) => place(a.path) - place(b.path) || (a.label < b.label ? -1 : 1));
  const grouped = Map.groupBy(own, ({ path }) => listed.get(path));
  const entries = [...grouped].flatMap(([group, members]): SidebarEntry[] => {
    const items = members.map(({ path, label }) => ({ label, link: siteAddress(path) }));
    return group === undefined ? items : [{ label: group, collapsed: true, items }];
  });
  const folders = new Set(inside.flatMap(([path]) => /^[^/]+(?=\/)/.exec(path.slice(folder.length)) ?? []));
  const groups = [...folders].sort().map((name) => ({
    label: name.charAt(0).toUpperCase() + name.slice(1),
    collapsed: true,
    items: entriesOf(`${folder}${name}/`, pages, listed),
  }));
  return [...entries, ...groups];
}
