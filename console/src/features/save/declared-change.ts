/**
 * A write as a change of the declared configuration: where in the files it stands, and the whole tree after it, for
 * which the gateway can say what the recent requests would get.
 */
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { stringify } from 'yaml';
import { call, callByName } from '../../api/call.ts';
import { applyPatch, isFields, valueAt, withValueAt, type Fields } from './merge-patch.ts';
import type { Change } from './save-context.ts';
import type { PlanAnswer } from './plan-types.ts';

export interface DeclaredChange {
  readonly config: Fields;
  /** The fields that change, at their place in the files. */
  readonly yaml: string;
  /** The names of the record and of those above it, by the parameters of the path. */
  readonly names: Readonly<Record<string, string>>;
}

const LEVELS = [
  { parameter: 'app_id', collection: 'apps', labelOf: (record: Fields) => record['slug'] },
  { parameter: 'version_id', collection: 'versions', labelOf: (record: Fields) => record['version'] },
  { parameter: 'revision_id', collection: 'revisions', labelOf: (record: Fields) => record['revision'] },
  {
    parameter: 'endpoint_id',
    collection: 'endpoints',
    labelOf: (record: Fields) => `${String(record['method'])} ${String(record['path'])}`,
  },
] as const;
/** What names a record in the files: another label is another record there. */
const LABELS = new Set(['slug', 'version', 'revision', 'method', 'path']);
const DELETES_MAX = 10_000_000;

/** undefined where the write is none of a record that files declare. */
async function declaredChange(
  operation: string,
  { path = {}, body }: Change['options'],
): Promise<DeclaredChange | undefined> {
  const [method = '', template = ''] = operation.split(' ');
  const depth = LEVELS.findIndex((_, index) => template === templateOf(index));
  const isDeletion = method === 'DELETE' && depth > 0;
  const patch = method === 'PATCH' && isFields(body) ? body : undefined;
  if (depth < 0 || (!isDeletion && patch === undefined)) return undefined;
  if (Object.keys(patch ?? {}).some((name) => LABELS.has(name))) return undefined;
  const place: string[] = [];
  for (let index = 0; index <= depth; index += 1) {
    const { body: answer } = await callByName<{ readonly data: Fields }>(`GET ${templateOf(index)}`, {
      path,
    });
    place.push(LEVELS[index]?.collection ?? '', String(LEVELS[index]?.labelOf(answer.data)));
  }
  const { body: stored } = await call('GET /config', { query: { app: place[1] } });
  const config = (stored.data as { readonly config: Fields }).config;
  const item = valueAt(config, place);
  const next = isDeletion ? undefined : applyPatch(item ?? {}, patch);
  const shown = Object.keys(patch ?? {}).map((name) => [name, valueAt(next, [name]) ?? null] as const);
  return {
    names: Object.fromEntries(
      LEVELS.slice(0, depth + 1).map(({ parameter }, index) => [parameter, place[index * 2 + 1] ?? '']),
    ),
    config: withValueAt(config, place, next),
    yaml: isDeletion
      ? stringify(withValueAt({}, place, null))
      : stringify(withValueAt({}, place, Object.fromEntries(shown))),
  };
}

export function useDeclaredChange(
  operation: string,
  options: Change['options'],
  enabled: boolean,
): UseQueryResult<DeclaredChange | null> {
  return useQuery({
    queryKey: ['save', 'declared change', operation, options],
    queryFn: async () => (await declaredChange(operation, options)) ?? null,
    enabled,
    retry: false,
    gcTime: 0,
  });
}

/** What the recent requests would get. */
export function useTrafficOf(declared: DeclaredChange | null | undefined): UseQueryResult<PlanAnswer> {
  return useQuery({
    queryKey: ['save', 'plan of a change', declared?.config],
    queryFn: async () => {
      const body = { config: declared?.config ?? {}, adopt: true, max_deletes: DELETES_MAX };
      const { body: answer } = await call('POST /config/plan', { body });
      return answer.data as unknown as PlanAnswer;
    },
    enabled: declared !== null && declared !== undefined,
    retry: false,
    gcTime: 0,
  });
}

function templateOf(depth: number): string {
  return LEVELS.slice(0, depth + 1)
    .map(({ collection, parameter }) => `/${collection}/{${parameter}}`)
    .join('');
}
