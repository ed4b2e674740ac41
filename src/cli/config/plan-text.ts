/** A plan, or the result of an apply, as lines for people. */
import { printable, type CliIo } from '../io.ts';
import { painter, type Paint } from '../show/colour.ts';
import { trafficText, type ShownTraffic } from './traffic-text.ts';

export interface ShownPlan {
  readonly base_version: number;
  readonly totals: Readonly<Record<'create' | 'update' | 'delete', number>>;
  readonly changes: readonly ShownChange[];
  /** Only in plans; null when nothing would change. */
  readonly traffic?: ShownTraffic | null;
  readonly created_keys?: readonly { readonly app: string; readonly name: string; readonly token: string }[];
}

interface ShownChange {
  readonly change: 'create' | 'update' | 'delete';
  readonly type: string;
  readonly path: readonly string[];
  readonly fields: Readonly<Record<string, { readonly before: unknown; readonly after: unknown }>>;
  readonly below?: number;
}

const SIGNS = { create: '+', update: '~', delete: '-' } as const;
const STYLES = { create: 'green', update: 'yellow', delete: 'red' } as const;
const VALUE_CHARS_MAX = 100;
const TYPE_WIDTH = 8;

/** @param done whether the plan has been applied */
export function planText(plan: ShownPlan, done: boolean, io: CliIo): string {
  const { changes, totals, created_keys: keys = [] } = plan;
  const paint = painter(io);
  const lines = changes.flatMap((change) => changeLines(change, paint));
  const unseen = totals.create + totals.update + totals.delete - shown(changes);
  if (unseen > 0) lines.push(`  … and ${unseen} more`);
  if (changes.length === 0) lines.push('Nothing to change.');
  else {
    const verb = done ? '' : 'to ';
    const past = done ? 'd' : '';
    lines.push(
      '',
      `${totals.create} ${verb}create${past}, ${totals.update} ${verb}update${past}, ${totals.delete} ${verb}delete${past}.`,
    );
  }
  for (const { app, name, token } of keys)
    lines.push(`Key ${printable(name)} of ${printable(app)} (shown only now): ${printable(token)}`);
  const traffic = plan.traffic === undefined || plan.traffic === null ? '' : trafficText(plan.traffic);
  return `${lines.join('\n')}\n${traffic === '' ? '' : `\n${traffic}`}`;
}

function shown(changes: readonly ShownChange[]): number {
  return changes.reduce((sum, { below = 0 }) => sum + 1 + below, 0);
}

function changeLines({ change, type, path, fields, below = 0 }: ShownChange, paint: Paint): string[] {
  const extent = below === 0 ? '' : `  with ${below} below it`;
  const line = `  ${SIGNS[change]} ${type.padEnd(TYPE_WIDTH)}  ${printable(path.join('  '))}${extent}`;
  const painted = paint(STYLES[change], line);
  if (change !== 'update') return [painted];
  const changed = Object.entries(fields).map(
    ([name, { before, after }]) => `      ${printable(name)}: ${valueText(before)} → ${valueText(after)}`,
  );
  return [painted, ...changed];
}

function valueText(value: unknown): string {
  const text = value === null ? '(default)' : printable(JSON.stringify(value));
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text;
}
