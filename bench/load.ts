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
  const path = join(newFolder('load'), 'load.lua');
  const requests = load.requests.map(({ path: target, headers = {} }) => {
    const fields = Object.entries(headers).map(([name, value]) => `[${lua(name)}]=${lua(value)}`);
    return `{${lua(target)},{${fields.join(',')}}}`;
  });
  const many = load.requests.length > 1;
  const parts: string[] = [];
  for (let from = 0; from < requests.length; from += REQUESTS_PER_FUNCTION) {
    const part = requests.slice(from, from + REQUESTS_PER_FUNCTION).join(',\n');
    parts.push(`add(function() return {${part}} end)`);
  }
  writeFileSync(
    path,
    `local requests = {}
local function add(part)
  for _, each in ipairs(part()) do requests[#requests + 1] = each end
end
${parts.join('\n')}
wrk.method = ${lua(load.method ?? 'GET')}
wrk.body = ${load.bodyBytes === undefined ? 'nil' : `string.rep("x", ${load.bodyBytes})`}
${many ? MANY_REQUESTS : ONE_REQUEST}
${SUMMARY}`,
  );
  return path;
}

/** LuaJIT takes 65,536 constants in one function; a request has a few. */
const REQUESTS_PER_FUNCTION = 2_000;

/** wrk makes the text of the request once. */
const ONE_REQUEST = `wrk.path = requests[1][1]
for name, value in pairs(requests[1][2]) do wrk.headers[name] = value end`;

const MANY_REQUESTS = `local texts, last = {}, 0
function init()
  for i, each in ipairs(requests) do
    each[2]["Host"] = wrk.headers["Host"]
    texts[i] = wrk.format(wrk.method, each[1], each[2], wrk.body)
  end
end
function request()
  last = last % #texts + 1
  return texts[last]
end`;

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
