/**
 * A real headless browser, with its web security on. Chromium comes with the packages (for x64); where that
 * does not start, because shared libraries are missing, it is tried again with the libraries of its package, then a
 * Chromium of the system is used, which is installed through apt where that is allowed. When there is none the
 * test fails with the command to run.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import { findProgram, plainEnvironment } from '../programs/programs.ts';

const MODULES = resolve(import.meta.dirname, '../../../node_modules');
const PACKAGE = join(MODULES, '@sparticuz/chromium');
const INSTALL_COMMAND = 'apt-get install -y chromium';
const SYSTEM_NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
/**
 * Root has no sandbox; small containers have no large /dev/shm; nothing is to be fetched from elsewhere. Names in
 * `.test` are this machine, for what browsers do differently on addresses other than loopback.
 */
const ARGUMENTS = [
  '--host-resolver-rules=MAP *.test 127.0.0.1',
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-gpu',
  '--no-proxy-server',
  '--disable-background-networking',
];

export interface TestBrowser {
  readonly browser: Browser;
  /** Of what it leaves in its home folder; a part of `close`. */
  readonly removeHome: () => void;
  close(): Promise<void>;
}

interface Candidate {
  readonly path: string;
  readonly env?: Readonly<Record<string, string>>;
}

let shared: Promise<Browser> | undefined;

/** One for all test files of this process. It ends with the process, or else the next file gets another. */
export function sharedBrowser(): Promise<Browser> {
  shared ??= keptBrowser();
  return shared;
}

async function keptBrowser(): Promise<Browser> {
  const forget = (): void => {
    shared = undefined;
  };
  try {
    const { browser, removeHome } = await startBrowser();
    browser.once('disconnected', forget);
    process.once('exit', removeHome);
    // Vitest ends its processes so; Playwright ends the browser when a process exits.
    process.once('SIGTERM', () => process.exit());
    return browser;
  } catch (error) {
    forget();
    throw error;
  }
}

/** Path of a font file that the browser can load. */
export function fontFile(): string {
  return join(unpackedChromium(), 'fonts/fonts/Open_Sans/OpenSans-Regular.ttf');
}

export async function startBrowser(): Promise<TestBrowser> {
  const pack = unpackedChromium();
  const home = mkdtempSync(join(tmpdir(), 'headgate-browser-'));
  const failures: string[] = [];
  for (const candidate of candidates(pack)) {
    try {
      const browser = await launch(candidate, pack, home);
      const removeHome = (): void => rmSync(home, { recursive: true, force: true });
      return {
        browser,
        removeHome,
        close: async () => {
          await browser.close();
          removeHome();
        },
      };
    } catch (error) {
      failures.push(`${candidate.path}: ${String(error).slice(0, 600)}`);
    }
  }
  rmSync(home, { recursive: true, force: true });
  throw new Error(`No browser starts here. Install one: ${INSTALL_COMMAND}\n${failures.join('\n')}`);
}

function* candidates(pack: string): Generator<Candidate> {
  const packed = join(pack, 'chromium');
  if (process.arch === 'x64') {
    yield { path: packed };
    yield { path: packed, env: { LD_LIBRARY_PATH: join(pack, 'al2023/lib') } };
  }
  if (systemChromium() === undefined) installChromium();
  const path = systemChromium();
  if (path !== undefined) yield { path };
}

function launch({ path, env }: Candidate, pack: string, home: string): Promise<Browser> {
  return chromium.launch({
    executablePath: path,
    args: ARGUMENTS,
    env: { ...plainEnvironment(home), ...fontSettings(pack), ...env },
  });
}

/** Without any font configured Chromium draws no text and may end: the package's own font is used then. */
function fontSettings(pack: string): Record<string, string> {
  if (existsSync('/etc/fonts/fonts.conf')) return {};
  const file = join(pack, 'fonts.conf');
  const folder = join(pack, 'fonts/fonts');
  writeFileSync(file, `<?xml version="1.0"?><fontconfig><dir>${folder}</dir></fontconfig>`);
  return { FONTCONFIG_FILE: file };
}

function systemChromium(): string | undefined {
  return SYSTEM_NAMES.map(findProgram).find((path) => path !== undefined);
}

function installChromium(): void {
  const apt = findProgram('apt-get');
  if (apt === undefined || process.getuid?.() !== 0) return;
  const env = { ...plainEnvironment('/root'), DEBIAN_FRONTEND: 'noninteractive' };
  try {
    execFileSync(apt, ['update', '-q'], { env, stdio: 'pipe' });
    execFileSync(apt, ['install', '-y', '-q', '--no-install-recommends', 'chromium'], { env, stdio: 'pipe' });
  } catch {
    // startBrowser reports that there is none, and how to install it by hand.
  }
}

/**
 * The folder with the package's browser, libraries and fonts, unpacked once per version. Test processes may come
 * here at the same time: each unpacks into a folder of its own, and the first to rename it wins.
 */
function unpackedChromium(): string {
  const { version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as { version: string };
  const cache = join(MODULES, '.cache');
  const target = join(cache, `headgate-chromium-${version}`);
  if (existsSync(target)) return target;
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(`${target}-`);
  // The package unpacks into the temporary folder, and its libraries only where it believes to be on Lambda.
  const script = `import('@sparticuz/chromium').then((pack) => pack.default.executablePath())`;
  execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: resolve(MODULES, '..'),
    env: { ...plainEnvironment(folder), TMPDIR: folder, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' },
    stdio: 'pipe',
  });
  try {
    renameSync(folder, target);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
  return target;
}
