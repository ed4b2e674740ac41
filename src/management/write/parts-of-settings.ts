/**
 * The parts that the settings provide when no level of a policy has them, and further limits of the settings.
 * Pure.
 */
import type { EffectivePolicy } from '../../model/policy.ts';
import type { LimitSettings } from '../../policy/dependencies.ts';
import { PARTS } from '../../policy/registry.ts';

/** Parts by their names; undefined: the settings give none. */
function partsOfSettings(settings: LimitSettings): Readonly<Record<string, unknown>> | undefined {
  const parts = PARTS.map((part) => [part.name, part.settings?.of(settings)] as const);
  const given = parts.filter(([, value]) => value !== undefined);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/** Everything that the settings provide, parts and further limits; undefined when they provide nothing. */
export function limitsOfSettings(settings: LimitSettings): Readonly<Record<string, unknown>> | undefined {
  const beside = PARTS.flatMap((part) => {
    const limit = part.settings?.beside;
    const value = limit?.of(settings);
    return limit === undefined || value === undefined ? [] : [[limit.name, value] as const];
  });
  const parts = partsOfSettings(settings);
  return beside.length === 0 ? parts : { ...parts, ...Object.fromEntries(beside) };
}

/**
 * Adds parts of the settings where no level has them.
 * @param appId app whose requests a limit of the settings counts
 */
export function withPartsOfSettings(
  { policy, sources }: EffectivePolicy,
  settings: LimitSettings,
  appId: string,
): EffectivePolicy {
  const given = Object.entries(partsOfSettings(settings) ?? {}).filter(
    ([part]) => policy[part] === undefined,
  );
  if (given.length === 0) return { policy, sources };
  const source = { level: 'global', id: appId } as const;
  return {
    policy: { ...policy, ...Object.fromEntries(given) },
    sources: { ...sources, ...Object.fromEntries(given.map(([part]) => [part, source])) },
  };
}
