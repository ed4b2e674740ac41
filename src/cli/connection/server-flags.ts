/**
 * Which gateway a command calls, and with which token. The command line has priority, then the environment, then the
 * current context, then the default. The token of a context is sent only to the server of that context.
 */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readBoundedFile } from '../../declaration/bounded-file.ts';
import { readInput } from '../input.ts';
import { CliError, printable, type CliIo } from '../io.ts';
import { contextNamed, readContexts, type Context } from './contexts-file.ts';

export interface ServerFlags {
  readonly server?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly context?: string;
  readonly ca?: string;
  readonly timeout?: string;
}

export interface Connection {
  /** Without a trailing slash, and without `/api/v1`. */
  readonly server: string;
  readonly token: string | undefined;
  /** Where the token comes from, in words; undefined without one. */
  readonly tokenFrom: string | undefined;
  /** PEM text. */
  readonly ca: string | undefined;
  readonly timeoutMs: number;
}

const SERVER_DEFAULT = 'http://127.0.0.1:9090';
/** An apply of 100,000 endpoints takes seconds. */
const TIMEOUT_SECS_DEFAULT = 120;
const TIMEOUT_SECS_MAX = 86_400;
const TOKEN_CHARS_MAX = 4_096;
const CA_BYTES_MAX = 1024 * 1024;

export function addServerFlags(command: Command): Command {
  return command
    .option(
      '--server <url>',
      `management API of the gateway, or unix:PATH of its socket; default: HEADGATE_SERVER, then the server of the context, then ${SERVER_DEFAULT}`,
    )
    .option('--token <token>', 'admin token; default: HEADGATE_TOKEN, then the token of the context')
    .option('--token-file <file>', 'file with the admin token; - is standard input')
    .option('--context <name>', 'stored gateway to use; default: HEADGATE_CONTEXT, then the current context')
    .option('--ca <file>', 'PEM file of the authority of the gateway’s certificate; default: HEADGATE_CA')
    .option('--timeout <seconds>', `how long to wait for an answer; default: ${TIMEOUT_SECS_DEFAULT}`);
}

/** @throws CliError when the flags, the environment or the context are wrong */
export function resolveConnection(flags: ServerFlags, io: CliIo): Connection {
  const named = namedContext(flags, io);
  const direct = flags.server ?? (flags.context === undefined ? set(io, 'HEADGATE_SERVER') : undefined);
  const givenToken = flagToken(flags, io);
  const envToken = set(io, 'HEADGATE_TOKEN');
  // The file of contexts is not read when its content would not be used.
  const needed = direct === undefined || (givenToken ?? envToken) === undefined;
  const context = named ?? (needed ? currentContext(io) : undefined);
  const { server, loopback } = parseServer(
    direct ?? context?.server ?? SERVER_DEFAULT,
    flags.server !== undefined
      ? '--server'
      : direct !== undefined
        ? 'HEADGATE_SERVER'
        : 'The server of the context',
  );
  const own =
    context !== undefined && parseServer(context.server, 'The server of the context').server === server;
  const ofContext = own ? context : undefined;
  const { token, from: tokenFrom } = firstToken([
    [givenToken, flags.token === undefined ? (flags.tokenFile ?? '') : '--token'],
    [flags.context !== undefined ? ofContext?.token : undefined, 'the context'],
    [envToken, 'HEADGATE_TOKEN'],
    [ofContext?.token, 'the context'],
  ]);
  const ca =
    flags.ca ??
    (flags.context !== undefined ? ofContext?.ca : undefined) ??
    set(io, 'HEADGATE_CA') ??
    ofContext?.ca;
  if (server.startsWith('http:') && !loopback && token !== undefined) {
    io.err(`warning: the admin token goes to ${server} without encryption; use https:// or a tunnel\n`);
  }
  return {
    server,
    token: token === undefined ? undefined : checkedToken(token),
    tokenFrom,
    ca: ca === undefined ? undefined : readCa(ca),
    timeoutMs: timeoutMsOf(flags),
  };
}

function set(io: CliIo, name: string): string | undefined {
  const value = io.env(name);
  return value === '' ? undefined : value;
}

/** The context that the command line or the environment names. */
function namedContext({ context }: ServerFlags, io: CliIo): Context | undefined {
  const name = context ?? set(io, 'HEADGATE_CONTEXT');
  return name === undefined ? undefined : contextNamed(name, readContexts(io));
}

function currentContext(io: CliIo): Context | undefined {
  const { current, byName } = readContexts(io);
  return current === undefined ? undefined : byName.get(current);
}

/** The prefix of a management API on a Unix socket: `unix:/run/headgate/management.sock`. */
const UNIX_PREFIX = 'unix:';
const SOCKET_PATH_BYTES_MAX = 107;

/** The path of a server on a Unix socket; undefined for any other server. */
export function socketPathOf(server: string): string | undefined {
  return server.startsWith(UNIX_PREFIX) ? server.slice(UNIX_PREFIX.length) : undefined;
}

function socketServer(text: string, source: string): string {
  const path = resolve(text.slice(UNIX_PREFIX.length).replace(/^\/{2,}/, '/'));
  if (text === UNIX_PREFIX || /[\0?#]/.test(path) || Buffer.byteLength(path) > SOCKET_PATH_BYTES_MAX) {
    throw new CliError(
      `${source} "${printable(text)}" is not a path of a Unix socket of at most ${SOCKET_PATH_BYTES_MAX} bytes; expected one such as unix:/run/headgate/management.sock`,
    );
  }
  return UNIX_PREFIX + path;
}

/**
 * The address of a gateway; the address of its API, which the docs use with curl, stands for the same.
 * @returns the URL without a trailing slash and without `/api/v1`, and whether its host is this machine
 */
export function parseServer(
  text: string,
  source: string,
): { readonly server: string; readonly loopback: boolean } {
  if (text.startsWith(UNIX_PREFIX)) return { server: socketServer(text, source), loopback: true };
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CliError(
      `${source} "${withoutUser(text)}" is not an http or https URL; expected one such as ${SERVER_DEFAULT}`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw new CliError(
      `${source} has a user or a password; expected the address alone, and the token in --token-file`,
    );
  }
  if (url.search !== '' || url.hash !== '') {
    throw new CliError(
      `${source} "${printable(text.split(/[?#]/, 1)[0] ?? '')}…" has a query or a fragment; expected the address alone`,
    );
  }
  const { hostname } = url;
  const loopback =
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    hostname.startsWith('127.');
  return { server: (url.origin + url.pathname).replace(/(?:\/api\/v1)?\/*$/, ''), loopback };
}

/** The text without everything before an @, which may contain a password. */
function withoutUser(text: string): string {
  return printable(text.slice(text.lastIndexOf('@') + 1).slice(0, 200));
}

function firstToken(places: readonly (readonly [token: string | undefined, from: string])[]): {
  readonly token: string | undefined;
  readonly from: string | undefined;
} {
  const [token, from] = places.find(([found]) => found !== undefined) ?? [];
  return { token, from: from === '-' ? 'standard input' : from };
}

function flagToken({ token, tokenFile }: ServerFlags, io: CliIo): string | undefined {
  if (token !== undefined && tokenFile !== undefined) {
    throw new CliError('--token and --token-file are both given; expected one of them');
  }
  if (token === '') throw new CliError('--token is empty');
  return token ?? (tokenFile === undefined ? undefined : readToken(tokenFile, io));
}

/** @param path `-` is standard input @throws CliError when the file contains no token */
export function readToken(path: string, io: Pick<CliIo, 'readStdin'>): string {
  const from = path === '-' ? 'standard input' : path;
  const token = Buffer.from(readInput(path, TOKEN_CHARS_MAX * 4, io))
    .toString('utf8')
    .trim();
  if (token === '') throw new CliError(`There is no token in ${from}`);
  return checkedToken(token);
}

/** The token, if a header field can contain it (RFC 9110 section 5.5). The message does not show the value. */
export function checkedToken(token: string): string {
  if (/^[\u0021-\u007E]+$/.test(token) && token.length <= TOKEN_CHARS_MAX) return token;
  const end = /[\r\n]$/.test(token) ? '; it ends in a line break' : '';
  throw new CliError(
    `The admin token is not valid: expected up to ${TOKEN_CHARS_MAX} visible ASCII characters without spaces${end}`,
  );
}

function readCa(path: string): string {
  const read = readBoundedFile(path, CA_BYTES_MAX);
  if ('problem' in read) throw new CliError(`Cannot read ${path}: ${read.problem}`);
  const text = Buffer.from(read.bytes).toString('utf8');
  if (!text.includes('-----BEGIN CERTIFICATE-----')) {
    throw new CliError(`Cannot use --ca ${path}: it has no PEM certificate`);
  }
  return text;
}

function timeoutMsOf({ timeout }: ServerFlags): number {
  const seconds = timeout === undefined ? TIMEOUT_SECS_DEFAULT : Number(timeout);
  if (timeout === '' || !(seconds > 0 && seconds <= TIMEOUT_SECS_MAX)) {
    throw new CliError(`--timeout "${timeout}" must be seconds above 0 and up to ${TIMEOUT_SECS_MAX}`);
  }
  return Math.ceil(seconds * 1_000);
}
