/**
 * Checks what a Markdown page of the project mentions: files and folders, settings, and targets of links must
 * exist. Pure: what exists is asked through `Project`. Fenced code blocks are checked for settings and paths too,
 * since readers copy from them; links are looked for outside of code only.
 */
import { posix } from 'node:path';

export interface Project {
  /** Whether a file or folder exists, relative to the project. */
  exists(path: string): boolean;
  /** The text of a Markdown page. */
  read(path: string): string;
  readonly settings: ReadonlySet<string>;
}

const PROJECT_PATH = /(?<![\w./:@-])(?:src|docs|test|scripts|bench|bin)\/[\w./*-]*/g;
const SETTING_NAME = /\bGATEWAY_[A-Z0-9_]+\*?/g;
const LINK = /\]\(([^()\s]+)(?:\s+"[^"]*")?\)/g;

/** Problems of one page, each as `path:line what`. */
export function checkMentions(path: string, text: string, project: Project): string[] {
  const problems: string[] = [];
  let fenced = false;
  for (const [index, line] of text.split('\n').entries()) {
    const report = (what: string): void => void problems.push(`${path}:${index + 1} ${what}`);
    if (/^\s*(?:```|~~~)/.test(line)) fenced = !fenced;
    for (const name of missingSettings(line, project)) report(`${name} is not a setting`);
    for (const file of missingPaths(line, project)) report(`${file} does not exist`);
    if (fenced) continue;
    for (const link of brokenLinks(path, line.replace(/`[^`]*`/g, ''), project))
      report(`the link to ${link} leads nowhere`);
  }
  return problems;
}

/** `GATEWAY_X_*` and `GATEWAY_X_` (from `GATEWAY_X_<name>`) stand for a family, which must have a member. */
function missingSettings(line: string, project: Project): string[] {
  return [...line.matchAll(SETTING_NAME)]
    .map(([name]) => name)
    .filter((name) => {
      const family = name.replace(/\*$/, '');
      if (family === name && !name.endsWith('_')) return !project.settings.has(name);
      return ![...project.settings].some((setting) => setting.startsWith(family));
    });
}

function missingPaths(line: string, project: Project): string[] {
  return [...line.matchAll(PROJECT_PATH)]
    .map(([found]) => found.replace(/[.:]+$/, ''))
    .filter((found) => {
      const star = found.indexOf('*');
      return !project.exists(star < 0 ? found : posix.dirname(`${found.slice(0, star)}x`));
    });
}

/** Targets of links of a line of a page that lead to no file, or to no heading of one. */
export function brokenLinks(page: string, line: string, project: Pick<Project, 'exists' | 'read'>): string[] {
  return [...line.matchAll(LINK)]
    .map(([, target = '']) => target)
    .filter((target) => {
      if (/^[a-z][a-z+.-]*:/i.test(target)) return false;
      const [file = '', anchor] = target.split('#');
      const path = file === '' ? page : posix.join(posix.dirname(page), file);
      if (!project.exists(path)) return true;
      return anchor !== undefined && path.endsWith('.md') && !anchorsOf(project.read(path)).has(anchor);
    });
}

/** Anchors as the usual renderers make them from headings. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = [...text.matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)].map(([, title = '']) => title);
  return new Set(
    headings.map((title) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replace(/\s/g, '-'),
    ),
  );
}
