/**
 * The contexts of the command line: named gateways with their tokens, in one file that only its owner may read. Owns
 * the file: replaces it as a whole, so that readers see the old or the new content and never a part.
 */
import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isObject } from '../../lib/is-object.ts';
import { systemCode, systemReason } from '../../lib/error-message.ts';
import { CliError, printable, type CliIo } from '../io.ts';

export interface Context {
  readonly server: string;
  readonly token?: string;
  /** Absolute path of a PEM file. */
  readonly ca?: string;
}

export interface Contexts {
  /** The context that is used when none is named. */
  readonly current: string | undefined;
  readonly byName: ReadonlyMap<string, Context>;
}

const FORMAT = 1;
const FILE_BYTES_MAX = 1024 * 1024;
const CONTEXTS_MAX = 1_000;
/** Permissions of the group and of other users. */
const OTHERS = 0o077;
export const CONTEXT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** The path by the XDG Base Directory Specification; undefined without a home folder. */
function contextsPath({ env }: Pick<CliIo, 'env'>): string | undefined {
  const config = env('XDG_CONFIG_HOME');
  if (config !== undefined && config.startsWith('/')) return join(config, 'headgate', 'contexts.json');
  const home = env('HOME');
  return home === undefined || home === '' ? undefined : join(home, '.config', 'headgate', 'contexts.json');
}

/**
 * @returns no contexts when there is no file
 * @throws CliError when other users may read the file, or when it is invalid
 */
export function readContexts(io: Pick<CliIo, 'env'>): Contexts {
  const path = contextsPath(io);
  const text = path === undefined ? undefined : readPrivate(path);
  if (path === undefined || text === undefined) return { current: undefined, byName: new Map() };
  return parse(path, text);
}

/** @throws CliError when there is no context of this name */
export function contextNamed(name: string, { byName }: Contexts): Context {
  const context = byName.get(name);
  if (context !== undefined) return context;
  const names = byName.size === 0 ? 'none; see "headgate context add --help"' : [...byName.keys()].join(', ');
  throw new CliError(`There is no context "${printable(name)}"; there are: ${names}`);
}

/** @throws CliError when the file cannot be written; the old one then stays */
export function writeContexts(io: Pick<CliIo, 'env'>, { current, byName }: Contexts): string {
  const path = contextsPath(io);
  if (path === undefined)
    throw new CliError('Cannot store a context: neither XDG_CONFIG_HOME nor HOME is set');
  if (byName.size > CONTEXTS_MAX) throw new CliError(`Cannot store more than ${CONTEXTS_MAX} contexts`);
  const content = {
    headgate_contexts: FORMAT,
    current: current ?? null,
    contexts: Object.fromEntries(byName),
  };
  const next = `${path}.new`;
  let made = false;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // An earlier process may have left one.
    rmSync(next, { force: true });
    made = true;
    writeWhole(next, `${JSON.stringify(content, undefined, 2)}\n`);
    renameSync(next, path);
  } catch (error) {
    if (made) rmSync(next, { force: true });
    throw new CliError(`Cannot write ${path}: ${systemReason(error)}`);
  }
  return path;
}

function writeWhole(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.byteLength;) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** undefined when there is no file. */
function readPrivate(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw new CliError(`Cannot read ${path}: ${systemReason(error)}`);
  }
  try {
    const { mode, size } = fstatSync(file);
    if ((mode & OTHERS) !== 0) {
      const shown = (mode & 0o777).toString(8).padStart(4, '0');
      throw new CliError(
        `Cannot use ${path}: it holds admin tokens, and its mode ${shown} lets others use it; run: chmod 600 '${path.replaceAll("'", String.raw`'\''`)}'`,
      );
    }
    if (size > FILE_BYTES_MAX)
      throw new CliError(`Cannot use ${path}: it has more than ${FILE_BYTES_MAX} bytes`);
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw error instanceof CliError ? error : new CliError(`Cannot read ${path}: ${systemReason(error)}`);
  } finally {
    closeSync(file);
  }
}

function parse(path: string, text: string): Contexts {
  const wrong = (what: string): CliError =>
    new CliError(`Cannot use ${path}: ${what}; repair it, or remove it and add the contexts again`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The message of the parser would show a part of the file.
    throw wrong('it is not JSON');
  }
  if (!isObject(value) || value['headgate_contexts'] !== FORMAT || !isObject(value['contexts'])) {
    throw wrong('it has no contexts of this version of Headgate');
  }
  const { current, contexts } = value;
  const byName = new Map<string, Context>();
  for (const [name, context] of Object.entries(contexts)) {
    if (!CONTEXT_NAME.test(name) || !isContext(context)) throw wrong('one of its contexts is not valid');
    byName.set(name, context);
  }
  return { current: typeof current === 'string' ? current : undefined, byName };
}

function isContext(value: unknown): value is Context {
  if (!isObject(value) || typeof value['server'] !== 'string') return false;
  return ['token', 'ca'].every((name) => value[name] === undefined || typeof value[name] === 'string');
}
