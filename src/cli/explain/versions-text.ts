/** `headgate explain … --versions`: the decision for a request at other config versions, as text. Pure. */
import type { Json } from '../everyday/everyday-command.ts';
import { printable, type CliIo } from '../io.ts';
import { tableText } from '../show/text-table.ts';

const COLUMNS = [
  {
    title: 'VERSIONS',
    value: ({ from_version: from, to_version: to }: Json) => (from === to ? String(from) : `${from}-${to}`),
  },
  { title: 'OUTCOME', value: ({ outcome }: Json) => outcomeOf(outcome) },
  { title: 'AS NOW', value: ({ same_as_now: isSame }: Json) => isSame },
  { title: 'SINCE', value: ({ at }: Json) => at },
  { title: 'BY', value: ({ actor }: Json) => actor },
  { title: 'CHANGE', value: ({ action, message }: Json) => (message ? `${action}: ${message}` : action) },
];

export function versionsText({ segments, complete }: Json, io: CliIo): string {
  const note = complete
    ? ''
    : 'There was not enough time to ask all versions that might answer differently.\n';
  return tableText(COLUMNS, segments, io) + note;
}

export function atVersionText({ version }: Json): string {
  const { config_version: number, same_as_now: isSame, outcome, actor, action } = version;
  const by = actor === null ? '' : `, made by ${actor} (${action})`;
  return (
    printable(`At config version ${number}${by}, ${isSame ? 'the same as now' : 'different from now'}:`) +
    guess(outcome)
  );
}

function guess({ guessed }: Json): string {
  return guessed
    ? '\nThis is a guess: the version asks for a credential, and the record does not say whether the request had it.\n'
    : '\n';
}

function outcomeOf({ outcome, status, code, backend }: Json): string {
  return [code ?? outcome, status, backend].filter((part) => part !== null).join(' ');
}
