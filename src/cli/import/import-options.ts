/** Options that all imports from other gateways share; import-run.ts implements them. */
import type { Command } from 'commander';
import { addServerFlags, type ServerFlags } from '../connection/server-flags.ts';
import { addOutputFlag } from '../show/output-format.ts';

export interface ImportFlags extends ServerFlags {
  readonly app: string;
  readonly gatewayPath?: string;
  readonly apply?: true;
  readonly maxDeletes?: string;
  readonly out?: string;
  readonly output: 'text' | 'json';
}

/** Adds the options that every import has. */
export function withImportOptions(command: Command, slug: string): Command {
  return addServerFlags(addOutputFlag(command))
    .option('--app <slug>', 'app that gets everything; created if it does not exist', slug)
    .option('--gateway-path <path>', 'path of the app; default: / and its slug')
    .option('--apply', 'apply the plan')
    .option('--max-deletes <count>', 'maximum number of records to delete; default: 10')
    .option('-o, --out <file>', 'write a configuration file instead; needs no gateway');
}
