/** `headgate import traefik`. */
import type { Command } from 'commander';
import { CliError, type CliIo } from '../../io.ts';
import { withImportOptions, type ImportFlags } from '../import-options.ts';

export function addTraefikCommand(command: Command, io: CliIo): void {
  const traefik = command
    .command('traefik')
    .description(
      'plan an app from the dynamic configuration of Traefik’s file provider; exit code 2 when anything would change',
    )
    .argument('<files...>', 'configuration in YAML or JSON; - is standard input');
  withImportOptions(traefik, 'traefik').action(async (paths: string[], flags: ImportFlags) => {
    // Loaded only here, because loading takes long.
    const { readSource, runImport } = await import('../import-run.ts');
    const { importTraefik } = await import('./traefik-tree.ts');
    const toml = paths.find((path) => path.endsWith('.toml'));
    if (toml !== undefined)
      throw new CliError(`Cannot read ${toml}: TOML is not read; write the same configuration as YAML`);
    const files = paths.map((name) => ({ name, value: readSource(name, io) }));
    const { app: slug, gatewayPath } = flags;
    return runImport(importTraefik(files, { slug, gatewayPath }), paths.join(' '), flags, io);
  });
}
