/** `headgate completion bash | zsh | fish`: prints the script that lets a shell complete command lines. */
import { Argument, type Command } from 'commander';
import type { CliIo } from '../io.ts';
import { addExamples } from '../show/output-format.ts';
import { completionScript, SHELLS, type Shell } from './completion-scripts.ts';
import { completionTree } from './completion-tree.ts';

export function addCompletionCommand(program: Command, io: CliIo): void {
  addExamples(
    program
      .command('completion')
      .description('print a script that completes commands and options in a shell')
      .addArgument(new Argument('<shell>', SHELLS.join(', ')).choices(SHELLS)),
    'source <(headgate completion bash)          # in ~/.bashrc',
    'source <(headgate completion zsh)           # in ~/.zshrc, after compinit',
    'headgate completion fish | source           # in ~/.config/fish/config.fish',
  ).action((shell: Shell) => io.out(completionScript(shell, completionTree(program))));
}
