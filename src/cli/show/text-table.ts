/**
 * Tables for people: columns as wide as their widest cell; the last one is cut at the width of the terminal. Cells
 * may contain foreign text: characters that control a terminal are replaced. Pure.
 */
import { printable, type CliIo } from '../io.ts';
import { painter } from './colour.ts';

export interface Column<T> {
  readonly title: string;
  /** undefined and null are shown as a dash. */
  readonly value: (row: T) => unknown;
}

const GAP = '  ';
const NARROWEST_LAST = 8;

/** @returns lines with a title row, or a single line when there are no rows */
export function tableText<T>(columns: readonly Column<T>[], rows: readonly T[], io: CliIo): string {
  if (rows.length === 0) return 'None.\n';
  const paint = painter(io);
  const cells = rows.map((row) => columns.map(({ value }) => cellText(value(row))));
  const widths = columns.map(({ title }, index) =>
    cells.reduce((widest, row) => Math.max(widest, widthOf(row[index] ?? '')), widthOf(title)),
  );
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0);
  const lastMax = io.columns === undefined ? Infinity : Math.max(io.columns - before, NARROWEST_LAST);
  const line = (row: readonly string[]): string =>
    row
      .map((cell, index) =>
        index === row.length - 1
          ? cut(cell, lastMax)
          : cell + ' '.repeat((widths[index] ?? 0) - widthOf(cell)),
      )
      .join(GAP)
      .trimEnd();
  const titles = paint('bold', line(columns.map(({ title }) => title)));
  return `${[titles, ...cells.map(line)].join('\n')}\n`;
}

/** Names and values, one per line; objects are compact JSON, since indented YAML would be too long. */
export function recordText(fields: Readonly<Record<string, unknown>>, io: CliIo): string {
  const paint = painter(io);
  const names = Object.keys(fields);
  const width = Math.max(0, ...names.map(widthOf));
  const lines = names.map((name) => `${paint('bold', name.padEnd(width))}${GAP}${cellText(fields[name])}`);
  return `${lines.join('\n')}\n`;
}

export function cellText(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-';
  if (typeof value === 'string') return printable(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) {
    return value.length === 0 ? '-' : printable(value.join(', '));
  }
  return typeof value === 'number' ? String(value) : printable(JSON.stringify(value));
}

/** The width in code points, which is correct for all scripts except wide ones. */
function widthOf(text: string): number {
  return Array.from(text).length;
}

function cut(text: string, widthMax: number): string {
  return widthOf(text) <= widthMax
    ? text
    : `${Array.from(text)
        .slice(0, widthMax - 1)
        .join('')}…`;
}
