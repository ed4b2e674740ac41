/** `headgate import`: converts files of other programs into configuration. */
import type { Command } from 'commander';
import type { CliIo } from '../io.ts';
import { addKongCommand } from './kong/kong-command.ts';
import { addTraefikCommand } from './traefik/traefik-command.ts';
import { addOpenApiCommand } from './openapi/openapi-command.ts';

export function addImportCommands(program: Command, io: CliIo): void {
  const command = program.command('import').description('configuration from the files of other programs');
  addOpenApiCommand(command, io);
  addKongCommand(command, io);
  addTraefikCommand(command, io);
}
