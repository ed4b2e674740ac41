/**
 * Apache httpd as a reading origin (see reading-origins.ts): strict by its default, and it tells every request line.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installedProgram } from '../programs/install-program.ts';
import { accepts, freePort, ready, stop } from './origin-process.ts';
import type { ReadingOrigin, ReadRequest } from './reading-origins.ts';

const MODULES = '/usr/lib/apache2/modules';
const USER = process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : '';
const TIMED_OUT = '408';

export async function startApache(): Promise<ReadingOrigin> {
  const program = installedProgram('apache2', 'apache2-bin');
  const folder = mkdtempSync(join(tmpdir(), 'headgate-apache-'));
  const port = await freePort();
  const logFile = join(folder, 'access.log');
  writeFileSync(join(folder, 'httpd.conf'), configuration(folder, port, logFile));
  const child = spawn(program, ['-X', '-f', join(folder, 'httpd.conf')], { stdio: 'ignore' });
  await ready(() => accepts(port), 'apache2');
  return {
    port,
    requests: () => (existsSync(logFile) ? readLog(readFileSync(logFile, 'latin1')) : []),
    close: async () => {
      await stop(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** One process with a few threads that answers 200 to everything that it can read. */
function configuration(folder: string, port: number, logFile: string): string {
  const modules = ['mpm_event', 'authz_core', 'rewrite']
    .filter((name) => existsSync(join(MODULES, `mod_${name}.so`)))
    .map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`)
    .join('\n');
  return `ServerRoot ${folder}
    ServerName origin.test
    DefaultRuntimeDir ${folder}
    PidFile ${folder}/pid
    ErrorLog ${folder}/error.log
    ${USER}
    ${modules}
    Listen 127.0.0.1:${port}
    HttpProtocolOptions Strict
    TraceEnable extended
    LimitRequestLine 65535
    LimitRequestFieldSize 131072
    LimitRequestFields 1000
    MaxKeepAliveRequests 0
    KeepAliveTimeout 20
    AllowEncodedSlashes NoDecode
    LogFormat "%>s %r" lines
    CustomLog ${logFile} lines
    RewriteEngine on
    RewriteRule ^ - [R=200]\n`;
}

function readLog(text: string): ReadRequest[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((entry) => ({ status: entry.slice(0, 3), line: unescapeLog(entry.slice(4)) }))
    .filter(({ status }) => status !== TIMED_OUT)
    .map(({ status, line }) => ({
      line: status === '200' ? line : `${line} (${status})`,
      body: undefined,
    }));
}

/** mod_log_config writes bytes that could break a line as in C. */
function unescapeLog(text: string): string {
  return text.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_, hex: string | undefined, one: string) =>
    hex === undefined ? one : String.fromCharCode(parseInt(hex, 16)),
  );
}
