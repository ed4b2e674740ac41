/** `headgate stats`, `headgate stats top` and `headgate problems`: the traffic, and the current problems. */
import type { Command } from 'commander';
import { queryText } from '../connection/query.ts';
import { addServerFlags, type ServerFlags } from '../connection/server-flags.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { createClient } from '../gateway-client.ts';
import type { CliIo } from '../io.ts';
import { addExamples, addOutputFlag, writeJson, type OutputFlags } from '../show/output-format.ts';
import { recordText, tableText, type Column } from '../show/text-table.ts';
import { column, type Json } from './everyday-command.ts';

interface StatsFlags extends ServerFlags, OutputFlags {
  readonly app?: string;
  readonly appVersion?: string;
  readonly route?: string;
  readonly window?: string;
  readonly by?: string;
  readonly limit?: string;
}

const BARS = '▁▂▃▄▅▆▇█';
/** Steps of a sparkline of `headgate stats`, in seconds. */
const STEPS: Readonly<Record<string, string>> = { '15m': '15', '24h': '1440' };

/** One bar per value, relative to the highest; a gap where no value is known. */
function sparkline(values: readonly (number | null)[]): string {
  const highest = values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  return values
    .map((value) => {
      if (value === null) return ' ';
      const height = highest === 0 ? 0 : Math.ceil((value / highest) * (BARS.length - 1));
      return BARS[height] ?? '';
    })
    .join('');
}

async function stats(
  { app, appVersion: version, route, window, ...flags }: StatsFlags,
  io: CliIo,
): Promise<void> {
  const step = STEPS[window ?? '15m'];
  const path = `/stats${queryText({ app, version, route, window, step })}`;
  const data: Json = await createClient(flags, io).call('GET', path);
  if (flags.output === 'json') return writeJson(data, io);
  io.out(statsText(data, io));
}

function statsText({ totals, points, denials, failures, from, to, nodes, enabled }: Json, io: CliIo): string {
  if (enabled === false) return 'Statistics are off (GATEWAY_STATS__MAX_BYTES is 0).\n';
  const sums = (lists: Json): string =>
    Object.entries<(number | null)[]>(lists)
      .map(([code, counts]) => `${code} ${counts.reduce<number>((sum, count) => sum + (count ?? 0), 0)}`)
      .join(', ');
  const missing = nodes.filter(({ answered }: Json) => !answered).map(({ name }: Json) => name);
  return recordText(
    {
      from,
      to,
      requests: totals.requests,
      errors: totals.errors,
      denied: totals.denied,
      'p50 p95 p99': `${msText(totals.p50_ms)} ${msText(totals.p95_ms)} ${msText(totals.p99_ms)}`,
      'backend p50 p95 p99': `${msText(totals.upstream_p50_ms)} ${msText(totals.upstream_p95_ms)} ${msText(totals.upstream_p99_ms)}`,
      'requests over time': sparkline(points.requests),
      'errors over time': sparkline(points.errors),
      denials: sums(denials),
      failures: sums(failures),
      ...(missing.length > 0 && { 'missing gateways': missing }),
    },
    io,
  );
}

const msText = (ms: number | null): string =>
  ms === null ? '-' : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;

const NAMES: Readonly<Record<string, (row: Json) => string>> = {
  app: ({ app }) => app,
  version: ({ app, version }) => `${app} ${version}`,
  route: ({ route }) => route,
  reason: ({ reason }) => reason,
  key: ({ key, key_id: id }) => key || id,
};

async function top({ app, by = 'app', window, limit, ...flags }: StatsFlags, io: CliIo): Promise<void> {
  const path = `/stats/top${queryText({ by, app, window, limit })}`;
  const data: Json = await createClient(flags, io).call('GET', path);
  if (flags.output === 'json') return writeJson(data, io);
  const columns: readonly Column<Json>[] = [
    { title: by.toUpperCase(), value: NAMES[by] ?? NAMES['app']! },
    { title: 'REQUESTS', value: ({ requests }) => requests },
    {
      title: 'ERRORS',
      value: ({ error_share: share }) => (share === null ? null : `${(share * 100).toFixed(1)} %`),
    },
    { title: 'P95', value: ({ p95_ms: ms }) => msText(ms) },
    { title: 'OVER TIME', value: (row) => sparkline(row.sparkline) },
  ];
  const { rows, other_requests: other } = data;
  io.out(tableText(columns, rows, io));
  if (other > 0) io.err(`Requests that are in none of these rows: ${other}.\n`);
}

/** Exit code 1 when there are problems. */
async function problems(flags: ServerFlags & OutputFlags, io: CliIo): Promise<void> {
  const found = (await createClient(flags, io).call('GET', '/problems')) as Json[];
  if (flags.output === 'json') writeJson(found, io);
  else if (found.length === 0) io.out('No problems.\n');
  else {
    const columns = [column('SEVERITY', 'severity'), column('CODE', 'code'), column('SINCE', 'since')];
    io.out(tableText([...columns, column('DETAIL', 'detail')], found, io));
  }
  if (found.length > 0) io.exit(EXIT_CODES.failed.code);
}

export function addStatsCommands(program: Command, io: CliIo): void {
  const windowFlag = ['--window <window>', '15m or 24h; default: 15m'] as const;
  const parent = addOutputFlag(addServerFlags(program.command('stats')))
    .description('show the traffic of the last minutes or of the last day')
    .option('--app <app>', 'slug or id of an app')
    .option('--app-version <version>', 'label or id of a version of the app')
    .option('--route <route>', 'a route of the version, such as "GET /shop/v1/items/{id}"')
    .option(...windowFlag)
    .action((flags: StatsFlags) => stats(flags, io));
  addExamples(parent, 'headgate stats', 'headgate stats --app shop --window 24h');
  addExamples(
    addOutputFlag(addServerFlags(parent.command('top')))
      .description('list the most used apps, versions, routes and keys, or the most frequent reasons')
      .option('--by <what>', 'app, version, route, reason or key', 'app')
      .option('--app <app>', 'only this app')
      .option(...windowFlag)
      .option('--limit <count>', 'maximum number of rows; default: 10')
      .action((flags: StatsFlags) => top(flags, io)),
    'headgate stats top --by route --app shop',
  );
  addExamples(
    addOutputFlag(addServerFlags(program.command('problems')))
      .description('list what is wrong now, most severe first; exit code 1 when something is')
      .action((flags: ServerFlags & OutputFlags) => problems(flags, io)),
    'headgate problems',
  );
}
