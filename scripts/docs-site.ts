/**
 * Builds the site of the docs (docs/site/) into docs/site/dist, and checks its links and that it loads nothing from
 * other hosts; exits with 1 when something is wrong. Installs the packages of the site first when they are missing,
 * which needs the network; nothing else in the project needs them.
 *
 *   docs-site.ts            build and check
 *   docs-site.ts --check    and open the pages in a browser: both colour schemes, search, no request elsewhere
 */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkBuiltPages } from './site/built-pages.ts';
import { OTHER_PATHS, sitePages, siteSidebar } from './site/content.ts';

const root = join(import.meta.dirname, '..');
const site = join(root, 'docs/site');
const content = join(site, 'src/content/docs');
const built = join(site, 'dist');

function run(command: string, args: readonly string[]): void {
  const env = { ...process.env, ASTRO_TELEMETRY_DISABLED: '1' };
  const { status, error } = spawnSync(command, args, { cwd: site, stdio: 'inherit', env });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(1);
}

/** Whether the packages are those of the lock file. */
function isInstalled(): boolean {
  const marker = join(site, 'node_modules/.package-lock.json');
  return existsSync(marker) && statSync(marker).mtimeMs >= statSync(join(site, 'package-lock.json')).mtimeMs;
}

function prepareContent(): void {
  const paths = [
    ...OTHER_PATHS,
    ...globSync('docs/**/*.md', { cwd: root, exclude: ['docs/site/**'] }).sort(),
  ];
  const pages = new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
  rmSync(content, { recursive: true, force: true });
  for (const { path, text } of sitePages(pages)) {
    mkdirSync(dirname(join(content, path)), { recursive: true });
    writeFileSync(join(content, path), text);
  }
  writeFileSync(join(site, 'src/sidebar.json'), `${JSON.stringify(siteSidebar(pages), null, 2)}\n`);
}

function builtFiles(): Map<string, string> {
  const paths = globSync('**/*.{html,css,js,mjs}', { cwd: built });
  return new Map(paths.map((path) => [path, readFileSync(join(built, path), 'utf8')]));
}

if (!isInstalled()) {
  // Not `npm ci`: it wants the packages of all platforms in the lock file, which registries may lack.
  run('npm', ['install', '--no-save', '--no-audit', '--no-fund']);
}
// Rendered pages are kept there, also when only the configuration has changed.
for (const cache of ['.astro', 'node_modules/.astro'])
  rmSync(join(site, cache), { recursive: true, force: true });
prepareContent();
run(process.execPath, [join(site, 'node_modules/astro/bin/astro.mjs'), 'build']);
const files = builtFiles();
const problems = checkBuiltPages(files);
if (problems.length === 0 && process.argv.includes('--check')) {
  const { checkInBrowser } = await import('./site/browser-check.ts');
  problems.push(...(await checkInBrowser(built)));
}
for (const problem of problems) process.stdout.write(`${problem}\n`);
const count = [...files.keys()].filter((path) => path.endsWith('.html')).length;
process.stdout.write(`docs/site/dist: ${count} pages, ${problems.length} problems\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
