/**
 * Load by wrk: one thread on the cores of the load, keep-alive connections, one request at a time on each. Every
 * answer must have the status 2xx: a proxy that refuses or fails is fast and proves nothing, so that is an error.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from './processes.ts';
import { programPath } from './programs.ts';

export interface LoadRequest {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Load {
  readonly connections: number;
  readonly method?: 'GET' | 'POST';
  /** One, or several that are sent in turn. */
  readonly requests: readonly LoadRequest[];
  readonly bodyBytes?: number;
  readonly timeoutSecs?: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly durationSecs: number;
  readonly bytesRead: number;
  readonly p50Us: number;
  readonly p99Us: number;
}

interface Summary extends LoadResult {
  readonly failedRequests: number;
  readonly socketErrors: number;
}

const scripts = new WeakMap<Load, string>();

/** Runs the load against a port; throws when a single request failed. */
export async function runLoad(load: Load, port: number, seconds: number, cores: string): Promise<LoadResult> {
  const script = scripts.get(load) ?? writeScript(load);
  scripts.set(load, script);
  const args = ['-c', cores, programPath('wrk'), '-t1', `-c${load.connections}`, `-d${seconds}s`];
  const timeout = `--timeout=${load.timeoutSecs ?? 10}s`;
  const output = await capture(programPath('taskset'), [
    ...args,
    timeout,
    '-s',
    script,
    `http://127.0.0.1:${port}${load.requests[0]?.path ?? '/'}`,
  ]);
  const line = output.split('\n').find((each) => each.startsWith('{'));
  if (line === undefined) throw new Error(`wrk gave no summary:\n${output}`);
  const summary = JSON.parse(line) as Summary;
  if (summary.failedRequests + summary.socketErrors > 0) {
    throw new Error(`${summary.failedRequests} answers and ${summary.socketErrors} connections failed`);
  }
  return summary;
}

/** Sends the first request once; throws with what was answered when that is not what the load expects. */
export async function tryOnce(load: Load, port: number): Promise<void> {
  const { path = '/', headers = {} } = load.requests[0] ?? {};
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: load.method ?? 'GET',
    headers,
    ...(load.bodyBytes === undefined ? {} : { body: 'x'.repeat(load.bodyBytes) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} was answered ${response.status}: ${text.slice(0, 500)}`);
}

function writeScript(load: Load): string {
  const folder = newFolder('load');
  const path = join(folder, 'load.lua');
  const many = load.requests.length > 1;
  const choose = many ? manyRequests(load, folder) : oneRequest(load.requests[0] ?? { path: '/' });
  writeFileSync(
    path,
    `wrk.method = ${lua(load.method ?? 'GET')}
wrk.body = ${load.bodyBytes === undefined ? 'nil' : `string.rep("x", ${load.bodyBytes})`}
${choose}
${SUMMARY}`,
  );
  return path;
}

/** wrk makes the text of the request once. */
function oneRequest({ path, headers = {} }: LoadRequest): string {
  const fields = Object.entries(headers).map(([name, value]) => `wrk.headers[${lua(name)}] = ${lua(value)}`);
  return [`wrk.path = ${lua(path)}`, ...fields].join('\n');
}

/**
 * The texts lie in a file, one after the other, with their lengths in another, and each is cut out when its turn
 * comes. As strings of their own they would be the death of wrk: LuaJIT keeps every string once, in a table by a hash
 * that looks at a few characters only, and a hundred thousand requests that differ in nothing but the key have few
 * hashes. For that reason the fields come in the order in which they are given, with what differs about the middle.
 */
function manyRequests({ method = 'GET', requests, bodyBytes }: Load, folder: string): string {
  const length = bodyBytes === undefined ? '' : `Content-Length: ${bodyBytes}\r\n`;
  const texts = requests.map(({ path, headers = {} }) => {
    const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return `${method} ${path} HTTP/1.1\r\n${fields.join('')}${length}`;
  });
  const [textsPath, lengthsPath] = [join(folder, 'requests.txt'), join(folder, 'lengths.txt')];
  writeFileSync(textsPath, texts.join(''), 'latin1');
  writeFileSync(lengthsPath, texts.map((text) => text.length).join('\n'));
  return `local texts, ends, last, ending = nil, { [0] = 0 }, 0, nil
function init()
  local file = assert(io.open(${lua(textsPath)}, "rb"))
  texts = file:read("*a")
  file:close()
  for length in io.lines(${lua(lengthsPath)}) do ends[#ends + 1] = ends[#ends] + tonumber(length) end
  -- Somewhere else in every round, or rounds that are short would all ask for the same.
  math.randomseed(os.time())
  last = math.random(#ends) - 1
  ending = "Host: " .. wrk.headers["Host"] .. "\\r\\n\\r\\n" .. (wrk.body or "")
end
function request()
  last = last % #ends + 1
  return texts:sub(ends[last - 1] + 1, ends[last]) .. ending
end`;
}

const SUMMARY = `function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '{"requests":%d,"durationSecs":%.6f,"bytesRead":%d,"p50Us":%d,"p99Us":%d,"failedRequests":%d,"socketErrors":%d}\\n',
    summary.requests, summary.duration / 1e6, summary.bytes, latency:percentile(50), latency:percentile(99),
    e.status, e.connect + e.read + e.write + e.timeout))
end
`;

/** Paths and fields of the bench are visible ASCII; quotes and backslashes are the only ones to escape. */
function lua(text: string): string {
  return JSON.stringify(text);
}

function capture(program: string, args: readonly string[]): Promise<string> {
  return new Promise((done, fail) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.once('error', fail);
    child.once('close', () => done(output));
  });
}
