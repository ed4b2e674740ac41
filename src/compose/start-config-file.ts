/** Wires the configuration files that replace a database. Loads their reader only when there are any. */
import { resolve } from 'node:path';
import type { ConfigFile } from '../control/config-file/config-file.ts';
import { createWritePath, type WriteDependencies } from '../management/write/write.ts';
import { globalsOf } from '../control/workers/policy-settings.ts';
import type { Parts } from './parts.ts';
import { StartError } from './start-error.ts';

/**
 * Reads the files and applies them, before there is traffic.
 * @returns undefined when the configuration comes from a database
 * @throws StartError with everything that is wrong with the files
 */
export async function startConfigFile(
  { settings, state, clock, log, egress }: Parts,
  writing: WriteDependencies,
  env: (name: string) => string | undefined,
): Promise<ConfigFile | undefined> {
  if (settings.configFile === undefined) return undefined;
  const { configFileApply } = await import('../control/config-file/apply-config-file.ts');
  const { ConfigFile } = await import('../control/config-file/config-file.ts');
  const rules = { clock, egress, policyGlobals: globalsOf(settings), jwtDefaults: settings.jwt };
  const configFile = new ConfigFile({
    path: resolve(settings.configFile),
    env,
    apply: configFileApply(createWritePath(writing), rules),
    configVersion: () => state.configVersion,
    clock,
    log,
  });
  const problems = await configFile.load();
  if (problems === undefined) return configFile;
  const shown = JSON.stringify(settings.configFile);
  throw new StartError(
    `Cannot use GATEWAY_CONFIG_FILE=${shown}: expected a configuration without problems, found ${problems.length}:\n${problems.join('\n')}`,
  );
}
