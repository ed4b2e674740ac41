/** What a shell may complete: the commands of the program with their options, from the tree that parses them. Pure. */
import type { Command } from 'commander';

export interface CompletedCommand {
  /** Words after the program's name, joined by one space; '' for the program itself. */
  readonly path: string;
  /** Names of the commands below it, with their descriptions. */
  readonly children: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly CompletedOption[];
  /** Whether it takes arguments of its own, which may be files. */
  readonly takesArguments: boolean;
}

interface CompletedOption {
  readonly long: string;
  readonly description: string;
  readonly takesValue: boolean;
  /** The values that the option accepts; empty: any. */
  readonly choices: readonly string[];
}

const HELP: CompletedOption = { long: '--help', description: 'show help', takesValue: false, choices: [] };

export function completionTree(program: Command): readonly CompletedCommand[] {
  return below(program, []);
}

function below(command: Command, words: readonly string[]): CompletedCommand[] {
  const children = command.commands.map((child) => ({
    name: child.name(),
    description: child.description(),
  }));
  const options = command.options.flatMap(({ long, description, required, optional, argChoices }) =>
    typeof long !== 'string'
      ? []
      : [{ long, description, takesValue: required || optional, choices: argChoices ?? [] }],
  );
  return [
    {
      path: words.join(' '),
      children,
      options: [...options, HELP],
      takesArguments: command.registeredArguments.length > 0,
    },
    ...command.commands.flatMap((child) => below(child, [...words, child.name()])),
  ];
}
