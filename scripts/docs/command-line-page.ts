/** docs/reference/command-line.md, from the commander program that parses the command line. Pure. */
import type { Command } from 'commander';
import { EXIT_CODES } from '../../src/cli/exit-codes.ts';
import { createProgram } from '../../src/cli/program.ts';
import { code, page, sentence, table } from './markdown.ts';

const nothing = async (): Promise<void> => undefined;

export function commandLinePage(): string {
  const program = createProgram('0.0.0', { start: nothing, migrate: nothing, copy: nothing });
  const exits = Object.values(EXIT_CODES).map(({ code: status, meaning }) => [code(String(status)), meaning]);
  return page(
    'Command line',
    `${program.description()} Without a command, \`headgate\` runs \`start\`. \`headgate --version\` and
\`headgate help [command]\` answer and exit.`,
    ...program.commands.map(commandSection),
    `## Signals

| signal | \`headgate start\` |
| --- | --- |
| \`SIGTERM\`, \`SIGINT\` | stops: requests under way may finish for \`GATEWAY_PROXY__DRAIN_TIMEOUT_MS\`, then the process exits with 0. The third Ctrl-C ends it at once |
| \`SIGHUP\` | reads the TLS certificates again |
| \`SIGUSR2\` | is sent by \`headgate start --take-over\`: the running process hands its place to the new one |`,
    `## Exit codes\n\n${table(['Code', 'Meaning'], exits)}`,
  );
}

function commandSection(command: Command): string {
  const options = command.options.map(({ flags, description }) => [code(flags), sentence(description)]);
  return [
    `## headgate ${command.name()}`,
    sentence(command.description()),
    ...(options.length === 0 ? [] : [table(['Option', 'Meaning'], options)]),
  ].join('\n\n');
}
