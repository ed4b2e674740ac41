/**
 * The findings of an import, for people: similar findings are one line with their number; `--output json` has
 * each of them.
 */
import { printable } from '../io.ts';
import type { Finding, FindingKind } from './source.ts';
import { counted } from '../../lib/text/counted.ts';

const TITLES: Readonly<Record<FindingKind, string>> = {
  lost: 'Not carried over',
  changed: 'Carried over, and different here',
  no_effect: 'Without effect here',
};
/** Limit of the lines of one kind. */
const LINES_MAX = 60;

interface Group {
  readonly first: Finding;
  count: number;
}

export function findingsText(findings: readonly Finding[]): string {
  const shown = (['lost', 'changed'] as const).map((kind) => kindText(kind, findings));
  const silent = findings.filter(({ kind }) => kind === 'no_effect').length;
  const rest =
    silent === 0
      ? ''
      : `${TITLES.no_effect}: ${counted(silent, 'value')}, such as ids and times; --output json has them.\n\n`;
  return `${shown.join('')}${rest}`;
}

function kindText(kind: FindingKind, findings: readonly Finding[]): string {
  const groups = grouped(findings.filter((finding) => finding.kind === kind));
  if (groups.length === 0) return '';
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  const lines = groups.slice(0, LINES_MAX).map(({ first, count }) => {
    const { place, reason, nearest } = first;
    const times = count === 1 ? '' : ` (and ${count - 1} more like it)`;
    const hint = nearest === undefined ? '' : `; nearest: ${nearest}`;
    return `  ${printable(`${place === '' ? 'the document' : place}: ${reason}${hint}${times}`)}`;
  });
  if (groups.length > LINES_MAX)
    lines.push(`  … and ${groups.length - LINES_MAX} more; --output json has all`);
  return `${TITLES[kind]} (${total}):\n${lines.join('\n')}\n\n`;
}

/** Groups similar findings: the same reason at the same kind of place. */
function grouped(findings: readonly Finding[]): Group[] {
  const groups = new Map<string, Group>();
  for (const finding of findings) {
    const key = `${finding.place.replaceAll(/\[[^\]]*\]/g, '[]')} ${finding.reason}`;
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { first: finding, count: 1 });
    else known.count += 1;
  }
  return [...groups.values()];
}
