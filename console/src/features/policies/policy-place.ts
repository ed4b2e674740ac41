/** The place of a policy: the record of its level, and the level from which it inherits. */
import { useQuery, useQueryClient, type UseQueryResult } from '@tanstack/react-query';
import { callByName, type Answer, type OperationName } from '../../api/call.ts';
import { queryKey, useRead } from '../../api/queries.ts';
import type { EffectivePolicyEnvelope, SettingsOfPolicy, Warning } from '../../api/schema.ts';
import { schemaTitled, type JsonSchema } from '../../ui/editor/json-schema.ts';
import { isFields, type Fields } from '../save/merge-patch.ts';

export type PolicyLevel = 'app' | 'revision' | 'endpoint';
export type PolicyPath = Readonly<Record<string, string>>;

const REVISION = '/apps/{app_id}/versions/{version_id}/revisions/{revision_id}';

interface Place {
  /** Path template of the record. */
  readonly record: string;
  /** The field of the record. */
  readonly field: 'default_policy' | 'policy_override';
}

export const PLACES: Readonly<Record<PolicyLevel, Place>> = {
  app: { record: '/apps/{app_id}', field: 'default_policy' },
  revision: { record: REVISION, field: 'default_policy' },
  endpoint: { record: `${REVISION}/endpoints/{endpoint_id}`, field: 'policy_override' },
};

export interface RecordEnvelope {
  readonly data: Fields & { readonly id: string };
}

export function useRecord(level: PolicyLevel, path: PolicyPath): UseQueryResult<Answer<RecordEnvelope>> {
  return useAny<RecordEnvelope>(`GET ${PLACES[level].record}`, path, true);
}

export type LimitOfAddress = NonNullable<SettingsOfPolicy['ip_rate_limit']>;

export interface Inherited {
  readonly value: unknown;
  /** The level that gives it. */
  readonly level: string;
}

/** Replaces the record that was read with that of an answer, so that nothing older is shown meanwhile. */
export function useKeepRecord(
  level: PolicyLevel,
  path: PolicyPath,
): (answer: Answer<RecordEnvelope>) => void {
  const client = useQueryClient();
  const name = `GET ${PLACES[level].record}`;
  return (answer) => void client.setQueryData(keyOf(name, path), answer);
}

interface InheritedPolicy {
  readonly parts: Readonly<Record<string, Inherited>>;
  /** The limit of each client address, in addition to any limit of the policy: only the settings have it. */
  readonly perAddress: LimitOfAddress | undefined;
  readonly error: Error | null;
}

/** What the policy inherits, part by part: from the level above, or for an app from the settings. */
export function useInherited(level: PolicyLevel, path: PolicyPath): InheritedPolicy {
  const above = level === 'endpoint' ? REVISION : '/apps/{app_id}';
  const { data, error } = useAny<EffectivePolicyEnvelope>(`GET ${above}/effective-policy`, path, true);
  const { policy = {}, sources = {}, settings } = data?.body.data ?? {};
  const { ip_rate_limit: perAddress, ...ofSettings } = settings ?? {};
  const parts =
    level === 'app'
      ? inheritedParts(ofSettings, () => 'global')
      : inheritedParts(policy, (part) => sources[part]?.level ?? 'app');
  return { parts, perAddress, error };
}

/** The gateway's warnings about the policy in force. */
export function useWarnings(level: PolicyLevel, path: PolicyPath): readonly Warning[] {
  const { record } = PLACES[level];
  const effective = useAny<EffectivePolicyEnvelope>(`GET ${record}/effective-policy`, path, level !== 'app');
  return effective.data?.body.warnings ?? [];
}

/** The schema of policies, as this gateway has it. */
export function usePolicySchema(): { readonly schema: JsonSchema | undefined; readonly error: Error | null } {
  const { data, error } = useRead('GET /config/schema', {});
  return { schema: data && schemaTitled(data.body, 'Policy'), error };
}

function inheritedParts(
  policy: unknown,
  levelOf: (part: string) => string,
): Readonly<Record<string, Inherited>> {
  if (!isFields(policy)) return {};
  return Object.fromEntries(
    Object.entries(policy)
      .filter(([, value]) => value !== null)
      .map(([part, value]) => [part, { value, level: levelOf(part) }]),
  );
}

function useAny<Result>(name: string, given: PolicyPath, enabled: boolean): UseQueryResult<Answer<Result>> {
  const path = pathOf(name, given);
  return useQuery({
    queryKey: keyOf(name, given),
    queryFn: ({ signal }) => callByName<Result>(name, { path, signal }),
    enabled,
  });
}

const keyOf = (name: string, given: PolicyPath): readonly unknown[] =>
  queryKey(name as OperationName, { path: pathOf(name, given) });

/** The parameters that the operation needs from a longer path. */
function pathOf(name: string, given: PolicyPath): PolicyPath {
  const names = [...name.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
  return Object.fromEntries(names.map((one) => [one, given[one] ?? '']));
}
