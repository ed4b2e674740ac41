/**
 * The output of `headgate revisions health`: the breaker and the latest failure, the results of discovery, then
 * tables of the targets and of the latest changes of state. Programs get the answer unchanged. Pure.
 */
import { shownPlace } from '../../config/backend.ts';
import type { CliIo } from '../io.ts';
import { recordText, tableText } from '../show/text-table.ts';
import type { Json } from './everyday-command.ts';

export function revisionHealthText(data: Json, io: CliIo): string {
  const { targets, discovery, history, last_error: error, last_probe: probe, ...facts } = data;
  const shown = { ...facts, last_error: errorText(error), last_probe: probeText(probe) };
  return [
    recordText(shown, io),
    ...(discovery === undefined ? [] : [recordText(discoveryFacts(discovery), io)]),
    ...(targets === undefined ? [] : [tableText(TARGET_COLUMNS, targets, io)]),
    ...(history.length === 0 ? [] : [tableText(HISTORY_COLUMNS, history, io)]),
  ].join('\n');
}

function errorText(error: Json): string | null {
  return error === null ? null : `${error.at} ${error.kind}: ${error.detail} (request ${error.request_id})`;
}

function probeText(probe: Json): string | null {
  if (probe === null) return null;
  const answer = probe.error ?? (probe.status === null ? '' : `status ${probe.status}`);
  return `${probe.at} ${probe.ok ? 'good' : 'bad'}: ${answer}, ${probe.duration_ms} ms`;
}

/** Leaves out facts that are not true, such as `stale: false`. */
function discoveryFacts({ source, targets, looked_at, changed_at, ...rest }: Json): Record<string, unknown> {
  const { stale_since, error, doubted, left_out, notes } = rest;
  return {
    discovery: source,
    found: targets,
    looked_at,
    changed_at,
    ...(stale_since !== null && { stale_since, error }),
    ...(doubted !== null && { doubted }),
    ...(left_out > 0 && { left_out }),
    ...(notes.length > 0 && { notes }),
  };
}

/** Why the target gets no requests, or only some. */
function whyText({ state, share, cause, ejected_until: until, last_probe: probe }: Json): string | null {
  switch (state) {
    case 'ejected':
      return `${cause?.replaceAll('_', ' ')}, until ${until}`;
    case 'unhealthy':
      return probe === null ? 'it fails its health checks' : probeText(probe);
    case 'warming':
      return `${Math.round(share * 100)} % of its weight so far`;
    default:
      return null;
  }
}

const TARGET_COLUMNS = [
  { title: 'TARGET', value: ({ host, port }: Json) => shownPlace(host, port) },
  { title: 'WEIGHT', value: ({ weight }: Json) => weight },
  { title: 'ZONE', value: ({ zone }: Json) => zone },
  { title: 'STATE', value: ({ state }: Json) => state },
  { title: 'UNDER WAY', value: ({ in_flight }: Json) => in_flight },
  { title: 'REQUESTS', value: ({ requests }: Json) => requests },
  { title: 'FAILED', value: ({ failures }: Json) => failures },
  { title: 'EJECTIONS', value: ({ ejections }: Json) => ejections },
  { title: 'WHY', value: whyText },
];

const HISTORY_COLUMNS = [
  { title: 'AT', value: ({ at }: Json) => at },
  { title: 'FROM', value: ({ from }: Json) => from },
  { title: 'TO', value: ({ to }: Json) => to },
  { title: 'BECAUSE', value: ({ detail }: Json) => detail },
];
