/** `headgate import kong`. */
import type { Command } from 'commander';
import type { CliIo } from '../../io.ts';
import { withImportOptions, type ImportFlags } from '../import-options.ts';

interface KongFlags extends ImportFlags {
  readonly withKeyValues?: true;
}

export function addKongCommand(command: Command, io: CliIo): void {
  const kong = command
    .command('kong')
    .description(
      'plan an app from a declarative configuration of Kong (decK, formats 1.1, 2.1 and 3.0); exit code 2 when anything would change',
    )
    .argument('<file>', 'configuration in YAML or JSON; - is standard input')
    .option('--with-key-values', 'also import the values of keys; needs the role admin');
  withImportOptions(kong, 'kong').action(async (path: string, flags: KongFlags) => {
    // Loaded only here, because loading takes long.
    const { readSource, runImport } = await import('../import-run.ts');
    const { importKong } = await import('./kong-tree.ts');
    const { app: slug, gatewayPath, withKeyValues } = flags;
    const options = { slug, gatewayPath, withKeyValues: withKeyValues === true };
    return runImport(importKong(readSource(path, io), options), path, flags, io);
  });
}
