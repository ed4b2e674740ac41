/**
 * A write as a change of the declared configuration: where in the files it stands, and the whole tree after it, for
 * which the gateway can say what the recent requests would get.
 */
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { ApiError } from '../../api/api-error.ts';
import { call, callByName } from '../../api/call.ts';
import {
  declaredTransaction,
  declaredWrite,
  keyLabel,
  labelOf,
  writePathOf,
  type DeclaredWrite,
  type WritePath,
} from './declared-place.ts';
import { fileText } from './file-text.ts';
import { isFields, type Fields } from './merge-patch.ts';
import type { Change } from './save-context.ts';
import { DELETES_MAX, type PlanAnswer } from './plan-types.ts';

export interface DeclaredChange extends Pick<DeclaredWrite, 'config' | 'kind' | 'isNewKey'> {
  /** What changes, at its place in the files. */
  readonly yaml: string;
  /** Files that have keys of an app have all of them. */
  readonly isOfKey: boolean;
  /** The names of the record and of those above it, by the parameters of the path. */
  readonly names: Readonly<Record<string, string>>;
}

/** undefined where the write is none of what files declare. */
async function declaredChange(
  operation: string,
  { path = {}, body }: Change['options'],
): Promise<DeclaredChange | undefined> {
  const [method = '', template = ''] = operation.split(' ');
  if (template === '/transaction' && isFields(body) && Array.isArray(body['operations'])) {
    const made = declaredTransaction(body['operations']);
    return made && { ...made, yaml: fileText(made.shown), names: {}, isOfKey: false };
  }
  const write = writePathOf(template);
  if (write === undefined) return undefined;
  const records = await recordsOf(write, path);
  const config = await configOf(records[0]);
  const names = write.levels.map((level, index) => {
    const record = records[index] ?? {};
    const label = labelOf(record, level);
    return level.collection === 'keys' ? keyLabel(config, String(records[0]?.['slug']), record) : label;
  });
  const made = declaredWrite(config, { method, path: write, names, body });
  return (
    made && {
      ...made,
      yaml: fileText(made.shown, { nullStr: made.kind === 'absent' ? '' : 'null' }),
      isOfKey: made.isNewKey || write.levels.at(-1)?.collection === 'keys',
      // Names of keys are not unique: commands name them by their ids.
      names: Object.fromEntries(
        write.levels.map(({ parameter }, index) => [
          parameter,
          (parameter === 'token_id' ? path[parameter] : names[index]) ?? '',
        ]),
      ),
    }
  );
}

async function recordsOf(
  { templates }: WritePath,
  path: Readonly<Record<string, string>>,
): Promise<Fields[]> {
  const answers = templates.map((template) =>
    callByName<{ readonly data: Fields }>(`GET ${template}`, { path }),
  );
  return (await Promise.all(answers)).map(({ body }) => body.data);
}

/** With one app, or with none where it is still to be made. */
async function configOf(app: Fields | undefined): Promise<Fields> {
  if (app === undefined) return { apps: {} };
  const { body } = await call('GET /config', { query: { app: String(app['slug']) } });
  return (body.data as { readonly config: Fields }).config;
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

/**
 * What the recent requests would get.
 * @param config undefined: nothing is asked
 */
export function useTrafficOf(config: Fields | undefined): UseQueryResult<PlanAnswer> {
  return useQuery({
    queryKey: ['save', 'plan of a change', config],
    queryFn: async () => {
      const body = { config: config ?? {}, adopt: true, max_deletes: DELETES_MAX };
      const { body: answer } = await call('POST /config/plan', { body });
      return answer.data as unknown as PlanAnswer;
    },
    enabled: config !== undefined,
    retry: false,
    gcTime: 0,
  });
}

/** What was wrong with a plan, at the place where it was found. */
export function planProblem(error: Error): string {
  const first = error instanceof ApiError ? error.fields[0] : undefined;
  return first === undefined ? error.message : `${first.pointer} ${first.detail}`;
}
