/**
 * What a workload found, and how it is shown: as text while the bench runs, as Markdown and JSON at its end. Ratios
 * are against peers of the same run; absolute figures belong to the machine and the hour.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { arch } from 'node:os';
import { join } from 'node:path';
import { type Figures, type RoundFigures } from './contest.ts';
import { median } from '../test/support/measure/stats.ts';
import { CORES } from './cores.ts';

/** One figure that has a target. */
export interface Check {
  readonly what: string;
  readonly value: number;
  /** The same between the rounds of each that were disturbed least; shown beside it, not judged. */
  readonly bestRound?: number;
  /** undefined: reported, not judged. */
  readonly atMost?: number;
  readonly atLeast?: number;
  readonly unit: string;
}

export interface WorkloadResult {
  readonly figures: readonly Figures[];
  readonly checks: readonly Check[];
  readonly notes?: readonly string[];
  /** How often and how long it was measured, where that is not in rounds of a load. */
  readonly pace?: string;
}

export interface NamedResult extends WorkloadResult {
  readonly id: string;
  readonly title: string;
  /** When it was run, RFC 3339. */
  readonly at: string;
  readonly pace: string;
}

export interface Report {
  readonly machine: string;
  readonly results: readonly NamedResult[];
  /** Workloads that could not be run, and why. */
  readonly failures: readonly { readonly id: string; readonly reason: string }[];
}

export function verdict({ value, atMost, atLeast }: Check): 'met' | 'MISSED' | '' {
  if (atMost === undefined && atLeast === undefined) return '';
  const met = (atMost === undefined || value <= atMost) && (atLeast === undefined || value >= atLeast);
  return met ? 'met' : 'MISSED';
}

/** What matters of the machine for a ratio; which one it is does not. */
export function machine(): string {
  return `${CORES} cores ${arch()}, Node.js ${process.versions.node}`;
}

/** The ratio of a figure between two contestants, as a check: the median of what it was in each round. */
export function ratio(
  figures: readonly Figures[],
  of: string,
  to: string,
  measure: keyof RoundFigures,
  target: { readonly atMost?: number; readonly atLeast?: number } = {},
): Check {
  const names = {
    cpuUs: 'CPU per request',
    requestsPerSecond: 'requests/s',
    bytesPerSecond: 'bytes/s',
    p99Us: 'p99',
  };
  const [one, other] = [of, to].map((name) => figures.find((each) => each.name === name));
  const inRounds = one?.rounds.map(
    (round, index) => round[measure] / (other?.rounds[index]?.[measure] ?? NaN),
  );
  return {
    what: `${names[measure]}, ${of} ÷ ${to}`,
    value: median(inRounds ?? []),
    ...(measure === 'cpuUs' && { bestRound: (one?.cpuUsMin ?? NaN) / (other?.cpuUsMin ?? NaN) }),
    unit: '×',
    ...target,
  };
}

export function resultText(result: WorkloadResult & Pick<NamedResult, 'id' | 'title'>): string {
  return `\n${result.id}  ${result.title}\n${plain(figureRows(result.figures))}${plain(checkRows(result.checks))}${(result.notes ?? []).map((note) => `  ${note}\n`).join('')}`;
}

/** A result in latest.json, where there are medians alone. */
type StoredResult = Omit<NamedResult, 'notes' | 'figures'> & {
  readonly notes: string;
  readonly figures: readonly Omit<Figures, 'rounds'>[];
};

const FOLDER = join(import.meta.dirname, 'results');

/**
 * Writes latest.json and latest.md. Of workloads that were not run this time, what the last run on such a machine
 * found is kept.
 * @param ids of all workloads, in the order of the report
 * @returns the folder
 */
export function writeReport(report: Report, ids: readonly string[]): string {
  mkdirSync(FOLDER, { recursive: true });
  const found = new Map(keptResults(report).map((result) => [result.id, result]));
  for (const result of report.results) found.set(result.id, result);
  const results = ids.flatMap((id) => found.get(id) ?? []);
  const whole = { ...report, results };
  // Notes as one text: the formatter wants short lists of texts on one line, and the file is checked like any other.
  const stored = results.map((result): StoredResult => ({
    ...result,
    notes: (result.notes ?? []).join(' '),
  }));
  const withoutRounds = (key: string, value: unknown): unknown => (key === 'rounds' ? undefined : value);
  writeFileSync(
    join(FOLDER, 'latest.json'),
    `${JSON.stringify({ ...whole, results: stored }, withoutRounds, 2)}\n`,
  );
  writeFileSync(join(FOLDER, 'latest.md'), reportMarkdown(whole));
  return FOLDER;
}

function keptResults({ machine: on, failures }: Report): NamedResult[] {
  let text: string;
  try {
    text = readFileSync(join(FOLDER, 'latest.json'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const last = JSON.parse(text) as Pick<Report, 'machine'> & { readonly results: readonly StoredResult[] };
  if (last.machine !== on) return [];
  return last.results
    .filter(({ id }) => !failures.some((failure) => failure.id === id))
    .map((result) => ({
      ...result,
      figures: result.figures.map((figures) => ({ ...figures, rounds: [] })),
      notes: result.notes === '' ? [] : [result.notes],
    }));
}

function reportMarkdown({ machine: on, results, failures }: Report): string {
  const parts = results.map(
    ({ id, title, at, pace, figures, checks, notes = [] }) =>
      `## ${id}: ${title}\n\n${at}, ${pace}.\n\n${markdown(figureRows(figures))}${markdown(checkRows(checks))}` +
      notes.map((note) => `${note}\n\n`).join(''),
  );
  const summary = results.flatMap((result) =>
    result.checks.filter((check) => verdict(check) !== '').map((check) => [result.id, ...checkCells(check)]),
  );
  const failed = failures.map(({ id, reason }) => `- ${id} could not be run: ${reason}\n`).join('');
  return (
    `# Bench\n\n${on}. Ratios compare contestants of one run; absolute figures say little elsewhere.\n\n` +
    markdown([['workload', ...CHECK_HEAD], ...summary]) +
    `${failed === '' ? '' : `${failed}\n`}${parts.join('')}`.trimEnd() +
    '\n'
  );
}

function figureRows(figures: readonly Figures[]): string[][] {
  if (figures.length === 0) return [];
  const head = [
    'contestant',
    'CPU µs/request',
    'user',
    'system',
    'spread',
    'requests/s',
    'MB/s',
    'p50 µs',
    'p99 µs',
    'core %',
    'stolen %',
    'memory MiB',
  ];
  const rows = figures.map((each) => [
    each.name,
    each.cpuUs.toFixed(1),
    each.userUs.toFixed(1),
    each.systemUs.toFixed(1),
    `${each.cpuUsMin.toFixed(1)}–${each.cpuUsMax.toFixed(1)}`,
    each.requestsPerSecond.toFixed(0),
    (each.bytesPerSecond / 1e6).toFixed(1),
    each.p50Us.toFixed(0),
    each.p99Us.toFixed(0),
    each.coreUse.toFixed(0),
    each.stolen?.toFixed(1) ?? '',
    (each.residentBytes / 1048576).toFixed(0),
  ]);
  return [head, ...rows];
}

const CHECK_HEAD = ['what', 'value', 'best round', 'target', 'verdict'];

function checkRows(checks: readonly Check[]): string[][] {
  return checks.length === 0 ? [] : [CHECK_HEAD, ...checks.map(checkCells)];
}

function checkCells(check: Check): string[] {
  const { what, value, bestRound, atMost, atLeast, unit } = check;
  const target =
    atMost !== undefined ? `≤ ${atMost} ${unit}` : atLeast !== undefined ? `≥ ${atLeast} ${unit}` : '';
  const best = bestRound === undefined ? '' : `${shown(bestRound)} ${unit}`;
  return [what, `${shown(value)} ${unit}`, best, target, verdict(check)];
}

function shown(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function plain(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ');
  return rows.map((row) => `  ${line(row).trimEnd()}\n`).join('');
}

function markdown(rows: readonly (readonly string[])[]): string {
  if (rows.length < 2) return '';
  const [head = [], ...body] = rows;
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  return `${line(head)}${line(head.map(() => '---'))}${body.map(line).join('')}\n`;
}
