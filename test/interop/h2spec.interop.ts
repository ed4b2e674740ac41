/**
 * h2spec against both traffic ports. What it holds against the gateway is listed with the reason, and nothing else may
 * fail.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startOrigin } from '../support/backends/origin.ts';
import { run } from '../support/programs/programs.ts';
import { goModule } from './programs/install.ts';
import { startInteropGateway, type InteropGateway } from './programs/interop-gateway.ts';

/** By the title of the case. */
const KNOWN: Readonly<Record<string, string>> = {
  'Sends invalid connection preface': 'a port without TLS answers what is no preface in HTTP/1.1, with 400',
  'Sends HEADERS frame that depend on itself': 'RFC 9113 has no priorities; they are ignored',
  'Sends PRIORITY frame that depend on itself': 'RFC 9113 has no priorities; they are ignored',
};

let origin: Awaited<ReturnType<typeof startOrigin>> | undefined;
let gateway: InteropGateway | undefined;
let folder = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-h2spec-'));
  // Late enough for what the client sends behind its request: an early answer would hide what becomes of it.
  origin = await startOrigin((_request, response) => {
    setTimeout(() => response.end('answer'), 150);
  });
  gateway = await startInteropGateway({ backend_port: origin.port });
});
afterAll(async () => {
  await gateway?.stop();
  await origin?.close();
  rmSync(folder, { recursive: true, force: true });
});

it.each([false, true])('h2spec (TLS: %s)', async (isSecure) => {
  const report = join(folder, `${isSecure}.xml`);
  const port = String(isSecure ? gateway?.tlsPort : gateway?.proxyPort);
  const secure = isSecure ? ['-t', '-k'] : [];
  // Beside other programs an answer may take seconds; what is in KNOWN takes all of this time.
  await run(goModule('h2spec'), [
    '-h',
    '127.0.0.1',
    '-p',
    port,
    '-P',
    '/x',
    '-o',
    '10',
    '-j',
    report,
    ...secure,
  ]);
  const xml = readFileSync(report, 'utf8');
  const cases = [...xml.matchAll(/<testcase [^>]*classname="([^"]*)"[^>]*?(?:\/>|>([\s\S]*?)<\/testcase>)/g)];
  expect(cases.length).toBeGreaterThan(140);
  const failed = cases.filter(([, , text]) => text !== undefined && /<(?:failure|error)/.test(text));
  expect(failed.map(([, name = '']) => name).filter((name) => !(name in KNOWN))).toEqual([]);
  expect(await (await fetch(`${gateway?.proxy}/x`)).text()).toBe('answer');
});
