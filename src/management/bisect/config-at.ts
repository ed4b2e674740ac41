/** Loads a stored config version as a whole configuration, for trials. */
import { TrialFailed } from '../../explain/explain-access.ts';
import type { ConfigChange } from '../../model/config.ts';
import type { ManagementContext } from '../context.ts';

/** @throws TrialFailed when the version is no longer kept */
export function configAt({ repository }: ManagementContext, version: number): Promise<ConfigChange> {
  return repository.read(async (reader) => {
    const apps = await reader.appsAt(version);
    if (apps === undefined) throw new TrialFailed(`Config version ${version} is no longer kept`);
    return {
      configVersion: version,
      reset: true,
      apps: apps.map(({ tree }) => tree),
      removedAppIds: [],
      versions: [],
      removedVersionIds: [],
      keys: apps.flatMap(({ keys }) => keys),
      removedKeyIds: [],
    };
  });
}
