/** docs/reference/command-line.md, from the commander program that parses the command line. Pure. */
import type { Command } from 'commander';
import { EXIT_CODES } from '../../src/cli/exit-codes.ts';
import { idleProgram } from '../../src/cli/idle-program.ts';
import { examplesOf } from '../../src/cli/show/output-format.ts';
import { code, page, sentence, table } from './markdown.ts';

export function commandLinePage(): string {
  const program = idleProgram();
  const exits = Object.values(EXIT_CODES).map(({ code: status, meaning }) => [code(String(status)), meaning]);
  return page(
    'Command line',
    `${program.description()} Without a command, \`headgate\` runs \`start\`. \`headgate --version\` and
\`headgate help [command]\` answer and exit.`,
    ...program.commands.flatMap((command) => sections(command, 'headgate')),
    `## Signals

| signal | \`headgate start\` |
| --- | --- |
| \`SIGTERM\`, \`SIGINT\` | stops: requests under way may finish for \`GATEWAY_PROXY__DRAIN_TIMEOUT_MS\`, then the process exits with 0. The third Ctrl-C ends it at once |
| \`SIGHUP\` | reads the TLS certificates and the configuration files again |
| \`SIGUSR2\` | is sent by \`headgate start --take-over\`: the running process hands its place to the new one |`,
    `## Exit codes\n\n${table(['Code', 'Meaning'], exits)}`,
  );
}

/** A command, and the commands below it. */
function sections(command: Command, parent: string): string[] {
  const name = `${parent} ${command.name()}`;
  return [commandSection(command, name), ...command.commands.flatMap((child) => sections(child, name))];
}

function commandSection(command: Command, name: string): string {
  const inputs = command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '…' : ''}`;
    const written = argument.required ? `<${name}>` : `[${name}]`;
    return [code(written), sentence(argument.description)];
  });
  const options = command.options.map(({ flags, description }) => [code(flags), sentence(description)]);
  const examples = examplesOf(command);
  return [
    `## ${name}`,
    sentence(command.description()),
    ...(inputs.length === 0 ? [] : [table(['Argument', 'Meaning'], inputs)]),
    ...(options.length === 0 ? [] : [table(['Option', 'Meaning'], options)]),
    ...(examples.length === 0 ? [] : [`\`\`\`console\n${examples.join('\n')}\n\`\`\``]),
  ].join('\n\n');
}
