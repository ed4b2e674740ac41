/** The effect of a plan on the recent requests, as lines for people. */
import { printable } from '../io.ts';

interface ShownSide {
  readonly status: number | null;
  readonly code: string | null;
  readonly backends: readonly string[];
  readonly cors_refused: boolean;
}

export interface ShownTraffic {
  readonly requests: number;
  readonly recorded: number;
  readonly changed: number;
  readonly undecided: number;
  readonly groups: readonly {
    readonly from: ShownSide;
    readonly to: ShownSide;
    readonly by: { readonly kind: string; readonly id: string; readonly name: string };
    readonly count: number;
    readonly first: string;
  }[];
  readonly groups_total: number;
  readonly problem: string | null;
}

const number = (value: number): string => value.toLocaleString('en-US');

/** '' when no request is recorded. */
export function trafficText(traffic: ShownTraffic): string {
  const { requests, recorded, changed, undecided, groups, groups_total: total, problem } = traffic;
  if (problem !== null) return `The recent requests could not be tried: ${printable(problem)}.\n`;
  if (recorded === 0) return '';
  const of = number(requests);
  const lines = [
    changed === 0
      ? `None of the last ${of} requests would be answered differently.`
      : `Of the last ${of} requests, ${number(changed)} would be answered differently:`,
    ...groups.map((group) => `  ${number(group.count)} of ${of}: ${groupText(group)}`),
  ];
  if (total > groups.length) lines.push(`  … and others, in ${number(total - groups.length)} more groups`);
  if (undecided > 0)
    lines.push(`For ${number(undecided)} more it is unknown: their credential was not read when they came.`);
  if (requests < recorded) lines.push(`There was no time for ${number(recorded - requests)} older requests.`);
  return `${lines.join('\n')}\n`;
}

function groupText({ from, to, by, first }: ShownTraffic['groups'][number]): string {
  return `${sideText(from)} → ${sideText(to)} by ${callerText(by)}, first ${printable(first)}`;
}

function sideText({ status, code, backends, cors_refused: isRefused }: ShownSide): string {
  const cors = isRefused ? ' (refused by CORS)' : '';
  if (backends.length > 0) return printable(backends.join(' or ')) + cors;
  if (status === null) return `the backend${cors}`;
  return `${status}${code === null ? '' : ` ${code}`}${cors}`;
}

function callerText({ kind, id, name }: ShownTraffic['groups'][number]['by']): string {
  if (kind === 'api_key') return `key "${printable(name)}"`;
  return kind === 'anonymous' ? 'anonymous callers' : `subject "${printable(id)}"`;
}
