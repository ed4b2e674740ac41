/**
 * Questions and answers between gateways, as text. A question contains no times except how far back the steps go, so
 * that the same question to several gateways within a moment has one answer. Answers are compressed; steps and rows
 * contain only the columns that are not 0. Both come from another process: malformed ones are refused.
 */
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import type { StatsColumns, StepCounts } from './stats-columns.ts';
import type { StatsHistory } from './stats-history.ts';
import { answerQuestion, type StatsFindings, type StatsQuestion } from './stats-question.ts';
import { gridOf, WINDOWS, type StatsGrid, type StatsRow, type WindowName } from './stats-window.ts';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** Limit of an answer before compression. */
const TEXT_BYTES_MAX = 32 * 1_048_576;
/** Number of steps in a question for the latest steps. */
const LATEST_STEPS = 66;
/** Two more than are shown, because clocks differ a little. */
const MORE_STEPS = 2;
const STEPS_MAX = 2_000;
const ROWS_MAX = 1_000;
const PLACES = ['app', 'version', 'route', 'key'];

/** A question to other gateways. */
export interface WireQuestion extends Omit<StatsQuestion, 'grid'> {
  readonly window: WindowName;
  readonly stepSecs: number;
  /** Asks only for the latest steps. */
  readonly latest: boolean;
}

interface WireAnswer {
  /** Answers of programs with other columns cannot be added up. */
  readonly columns: string;
  readonly name: string;
  readonly startSecs: number;
  readonly toSecs: number;
  readonly fromSecs: number;
  readonly sinceSecs: number | null;
  /** For each step, columns and values alternate. */
  readonly steps: readonly (readonly number[] | null)[];
  readonly rows: readonly (Omit<StatsRow, 'total'> & { readonly total: readonly number[] })[];
}

/** The findings of another gateway. Steps have the length in the question and begin at `fromSecs`. */
export interface WireFindings {
  /** The name of the gateway. */
  readonly name: string;
  /** Unix seconds: since when it has counted, and the end of what it has counted. */
  readonly startSecs: number;
  readonly toSecs: number;
  readonly fromSecs: number;
  readonly findings: StatsFindings;
}

/** A question to other gateways that covers the given one. */
export function wireQuestion({ grid, subject, rows }: StatsQuestion): WireQuestion {
  const latest = grid.steps <= LATEST_STEPS - MORE_STEPS;
  const { window, stepSecs } = grid;
  return { window, stepSecs, latest, subject, ...(rows !== undefined && { rows }) };
}

/** ASCII without spaces. */
export function questionText(question: WireQuestion): string {
  return Buffer.from(JSON.stringify(question)).toString('base64url');
}

/** undefined for a question that this program does not know. */
export function parseQuestion(text: string): WireQuestion | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return isQuestion(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** ASCII without spaces. @param name of the gateway that answers */
export async function answerText(
  history: StatsHistory,
  question: WireQuestion,
  name: string,
): Promise<string> {
  const { subject, rows } = question;
  const { clock, closedSecond, startSecond, columns } = history;
  const grid = wireGrid(history, question);
  const found = await answerQuestion(history, { grid, subject, ...(rows !== undefined && { rows }) });
  const answer: WireAnswer = {
    columns: columnsName(columns),
    name,
    startSecs: clock.unixSecs(startSecond),
    toSecs: clock.unixSecs(closedSecond + 1),
    fromSecs: grid.fromSecs,
    sinceSecs: found.sinceSecs ?? null,
    steps: found.steps.map((step) => (step === undefined ? null : sparse(step))),
    rows: found.rows.map((row) => ({ ...row, total: sparse(row.total), requests: [...row.requests] })),
  };
  return (await deflate(JSON.stringify(answer), { level: 1 })).toString('base64');
}

function wireGrid(history: StatsHistory, { window, stepSecs, latest }: WireQuestion): StatsGrid {
  const whole = gridOf(history, window, stepSecs);
  const steps = latest ? LATEST_STEPS : whole.steps + MORE_STEPS;
  return { ...whole, steps, fromSecs: whole.fromSecs + (whole.steps - steps) * stepSecs };
}

/** undefined for an invalid answer, or one with other columns. */
export async function parseAnswer(text: string, columns: StatsColumns): Promise<WireFindings | undefined> {
  try {
    const json = await inflate(Buffer.from(text, 'base64'), { maxOutputLength: TEXT_BYTES_MAX });
    const value: unknown = JSON.parse(json.toString());
    if (!isAnswer(value) || value.columns !== columnsName(columns)) return undefined;
    const { name, startSecs, toSecs, fromSecs, sinceSecs } = value;
    const steps = value.steps.map((step) => (step === null ? undefined : dense(step, columns)));
    const rows = value.rows.map((row) => ({ ...row, total: dense(row.total, columns) }));
    return {
      name,
      startSecs,
      toSecs,
      fromSecs,
      findings: { sinceSecs: sinceSecs ?? undefined, steps, rows },
    };
  } catch {
    return undefined;
  }
}

/** The findings, moved to another grid of the same step length. */
export function alignedTo(grid: StatsGrid, { fromSecs, findings }: WireFindings): StatsFindings {
  const shift = Math.round((grid.fromSecs - fromSecs) / grid.stepSecs);
  const moved = <T, U>(values: readonly T[], none: U): (T | U)[] =>
    Array.from({ length: grid.steps }, (_step, index) => values[index + shift] ?? none);
  const rows = findings.rows.map((row): StatsRow => ({ ...row, requests: moved(row.requests, 0) }));
  return { ...findings, steps: moved(findings.steps, undefined), rows };
}

function sparse(step: StepCounts): number[] {
  const values: number[] = [];
  step.forEach((value, column) => {
    if (value !== 0) values.push(column, value);
  });
  return values;
}

/** Throws for an unknown column. */
function dense(values: readonly number[], columns: StatsColumns): StepCounts {
  const step = columns.empty();
  for (let at = 0; at < values.length; at += 2) {
    const column = values[at] ?? -1;
    if (!Number.isInteger(column) || column >= step.length) throw new RangeError('no such column');
    step[column] = values[at + 1] ?? 0;
  }
  return step;
}

const namesOf = new WeakMap<StatsColumns, string>();

/** A name that changes with the columns and their meaning. */
function columnsName(columns: StatsColumns): string {
  let known = namesOf.get(columns);
  if (known === undefined) {
    known = `${columns.length} ${columns.codes.join(' ')}`;
    namesOf.set(columns, known);
  }
  return known;
}

type Fields = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null;
const isText: Check = (value) => typeof value === 'string';
const isCount: Check = (value) => typeof value === 'number' && value >= 0 && Number.isFinite(value);
const listOf =
  (max: number, check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.length <= max && value.every(check);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const counts = listOf(2 * STEPS_MAX, isCount);

function isQuestion(value: unknown): value is WireQuestion {
  if (!isObject(value)) return false;
  const { window, stepSecs, latest, subject, rows } = value;
  return (
    (window === '15m' || window === '24h') &&
    isStep(stepSecs, window) &&
    typeof latest === 'boolean' &&
    isObject(subject) &&
    (subject['kind'] === 'gateway' || (isPlace(subject['kind']) && isText(subject['key']))) &&
    (rows === undefined || (isObject(rows) && isPlace(rows['kind']) && isMax(rows['max'])))
  );
}

const isPlace: Check = (kind) => typeof kind === 'string' && PLACES.includes(kind);
const isMax: Check = (max) => Number.isInteger(max) && isCount(max) && Number(max) <= ROWS_MAX;

/** Whether the steps fit the window. */
function isStep(stepSecs: unknown, window: WindowName): boolean {
  const { secs, unitSecs } = WINDOWS[window];
  return Number.isInteger(stepSecs) && Number(stepSecs) >= 1 && Number(stepSecs) <= secs
    ? Number(stepSecs) % unitSecs === 0
    : false;
}

function isAnswer(value: unknown): value is WireAnswer {
  if (!isObject(value)) return false;
  const { columns, name, startSecs, toSecs, fromSecs, sinceSecs, steps, rows } = value;
  return (
    isText(columns) &&
    isText(name) &&
    [startSecs, toSecs, fromSecs].every(isCount) &&
    orNull(isCount)(sinceSecs) &&
    listOf(STEPS_MAX, orNull(counts))(steps) &&
    listOf(ROWS_MAX, isRow)(rows)
  );
}

const isRow: Check = (value) =>
  isObject(value) &&
  isText(value['key']) &&
  isLabels(value['labels']) &&
  isCount(value['sinceSecs']) &&
  counts(value['total']) &&
  listOf(STEPS_MAX, isCount)(value['requests']);

const LABELS: Readonly<Record<string, readonly string[]>> = {
  app: ['appId', 'app'],
  version: ['appId', 'app', 'versionId', 'version'],
  route: ['appId', 'app', 'versionId', 'version', 'route'],
  key: ['id', 'name'],
};

function isLabels(value: unknown): boolean {
  if (!isObject(value) || !isPlace(value['kind'])) return false;
  return (LABELS[String(value['kind'])] ?? []).every((label) => isText(value[label]));
}
