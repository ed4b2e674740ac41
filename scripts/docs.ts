/**
 * Writes the generated pages (docs/pages.ts) and the files for Prometheus, Grafana and Helm. With `--check` it writes
 * nothing: it compares them, checks what README.md and the docs mention (docs/mentions.ts) and what Prometheus is asked
 * (observability/files.ts), and exits with 1 when something is wrong.
 */
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SETTINGS } from '../src/settings/settings-table.ts';
import { checkMentions, type Project } from './docs/mentions.ts';
import { ALERTS_PAGE } from './observability/alert.ts';
import { chartFiles } from './kubernetes/chart-files.ts';
import { observabilityFiles, observabilityProblems } from './observability/files.ts';
import { generatedPages } from './docs/pages.ts';

const root = join(import.meta.dirname, '..');

/** What a build of the site makes; it need not be there. */
const BUILT = /^docs\/site\/(?:dist|screenshots)\b/;

const project: Project = {
  exists: (path) => BUILT.test(path) || existsSync(join(root, path)),
  read: (path) => readFileSync(join(root, path), 'utf8'),
  settings: new Set(Object.keys(SETTINGS)),
};

const pages = new Map([
  ...(await generatedPages((path) => project.read(path))),
  ...observabilityFiles(),
  ...chartFiles((path) => project.read(path)),
]);

async function problems(): Promise<string[]> {
  const stale = [...pages]
    .filter(([path, text]) => !project.exists(path) || project.read(path) !== text)
    .map(([path]) => `${path} is out of date: run npm run docs`);
  const written = globSync(['*.md', 'docs/**/*.md'], { cwd: root, exclude: ['docs/site/**'] }).sort();
  const alerts = await observabilityProblems(project.read(ALERTS_PAGE));
  return [
    ...stale,
    ...alerts,
    ...written.flatMap((path) => checkMentions(path, project.read(path), project)),
  ];
}

if (process.argv.includes('--check')) {
  const found = await problems();
  for (const problem of found) process.stdout.write(`${problem}\n`);
  process.exitCode = found.length === 0 ? 0 : 1;
} else {
  for (const [path, text] of pages) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}
