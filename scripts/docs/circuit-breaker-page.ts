/**
 * The table of docs/reference/circuit-breaker.md, made from the one that breakers go by
 * (src/proxy/resilience/breaker-table.ts). Pure.
 */
import {
  BREAKER_EVENTS,
  BREAKER_STATES,
  BREAKER_TABLE,
  type BreakerRow,
  type BreakerState,
} from '../../src/proxy/resilience/breaker-table.ts';

const BEGIN =
  '<!-- The table is made by scripts/docs.ts from src/proxy/resilience/breaker-table.ts; do not edit it. -->';
const END = '<!-- End of the table. -->';

/** The page with its table as the code has it. */
export function breakerPage(page: string): string {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin < 0 || end < begin)
    throw new Error('docs/reference/circuit-breaker.md has lost the place of its table');
  return `${page.slice(0, begin + BEGIN.length)}\n\n${breakerTable()}\n\n${page.slice(end)}`;
}

function breakerTable(): string {
  const head = ['event', ...BREAKER_STATES.map((state) => `in \`${state}\``)];
  const rows = BREAKER_EVENTS.map((event) => [
    `\`${event}\``,
    ...BREAKER_STATES.map((state) => BREAKER_TABLE[state][event].map((row) => cell(row, state)).join('<br>')),
  ]);
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function cell({ when, next, actions }: BreakerRow, state: BreakerState): string {
  const condition = when === undefined ? '' : `${words(when)}: `;
  const target = next === state ? (actions.length === 0 ? '–' : '') : `→ \`${next}\``;
  return condition + [target, actions.map(words).join(', ')].filter((part) => part !== '').join(', ');
}

function words(name: string): string {
  return name.replaceAll('_', ' ');
}
