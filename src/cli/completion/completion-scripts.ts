/**
 * Completion scripts for bash, zsh and fish: the tree of commands as tables of the shell, and one function that
 * walks the words typed so far. Completion runs no other program, so it is quick and needs no gateway. Pure.
 */
import type { CompletedCommand } from './completion-tree.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

export function completionScript(shell: Shell, tree: readonly CompletedCommand[]): string {
  switch (shell) {
    case 'bash':
      return bashScript(tree);
    case 'zsh':
      return zshScript(tree);
    case 'fish':
      return fishScript(tree);
  }
}

/**
 * A text in single quotes for any of the shells. In fish, `\'` works inside of them; in the other shells it does
 * not.
 */
function quoted(text: string, shell: Shell = 'bash'): string {
  const plain = text.replaceAll(/[\u0000-\u001F\u007F]/g, ' ');
  if (shell === 'fish') return `'${plain.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
  return `'${plain.replaceAll("'", String.raw`'\''`)}'`;
}

const names = ({ children }: CompletedCommand): string => children.map(({ name }) => name).join(' ');
const flags = ({ options }: CompletedCommand): string => options.map(({ long }) => long).join(' ');
/** `command path --option` for each option with a value. */
const valued = (tree: readonly CompletedCommand[]) =>
  tree.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(({ long, choices }) => ({ key: `${path} ${long}`, choices: choices.join(' ') })),
  );

/** The part that bash and zsh share: tables, and the path of the command that has been typed. */
function tables(tree: readonly CompletedCommand[], declare: string): string {
  const rows = (of: (command: CompletedCommand) => string): string =>
    tree.map((command) => `    [${quoted(`:${command.path}`)}]=${quoted(of(command))}`).join('\n');
  const values = valued(tree)
    .map(({ key, choices }) => `    [${quoted(`:${key}`)}]=${quoted(choices)}`)
    .join('\n');
  return `  ${declare} children=(\n${rows(names)}\n  )\n  ${declare} flags=(\n${rows(flags)}\n  )\n  ${declare} values=(\n${values}\n  )`;
}

function bashScript(tree: readonly CompletedCommand[]): string {
  return `# Completion of headgate for bash. Load it with: source <(headgate completion bash)
_headgate() {
${tables(tree, 'local -A')}
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path= word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ $word == -* ]]; then
      # The value of an option is no command.
      [[ -n \${values[":$path $word"]+set} ]] && i=$((i + 1))
    elif [[ " \${children[":$path"]} " == *" $word "* ]]; then
      path="\${path:+$path }$word"
    elif [[ -n \${children[":$path"]} ]]; then
      # No command of this name: nothing to complete below it.
      COMPREPLY=()
      return
    else
      break
    fi
  done
  COMPREPLY=()
  if [[ -n \${values[":$path $previous"]+set} ]]; then
    [[ -n \${values[":$path $previous"]} ]] && COMPREPLY=($(compgen -W "\${values[":$path $previous"]}" -- "$current"))
    return
  fi
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "\${flags[":$path"]}" -- "$current"))
  else
    COMPREPLY=($(compgen -W "\${children[":$path"]}" -- "$current"))
  fi
}
complete -o default -F _headgate headgate
`;
}

function zshScript(tree: readonly CompletedCommand[]): string {
  return `#compdef headgate
# Completion of headgate for zsh. Load it with: source <(headgate completion zsh)
_headgate() {
  emulate -L zsh
${tables(tree, 'local -A')}
  local current=\${words[CURRENT]} previous=\${words[CURRENT-1]} path= word
  local -i i
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    if [[ $word == -* ]]; then
      # The value of an option is no command.
      (( \${+values[:$path $word]} )) && i=$((i + 1))
    elif [[ " \${children[:$path]} " == *" $word "* ]]; then
      path="\${path:+$path }$word"
    elif [[ -n \${children[:$path]} ]]; then
      # No command of this name: nothing to complete below it.
      return 1
    else
      break
    fi
  done
  if (( \${+values[:$path $previous]} )); then
    if [[ -n \${values[:$path $previous]} ]]; then
      compadd -- \${=values[:$path $previous]}
    else
      _files
    fi
  elif [[ $current == -* ]]; then
    compadd -- \${=flags[:$path]}
  elif [[ -n \${children[:$path]} ]]; then
    compadd -- \${=children[:$path]}
  else
    _files
  fi
}
compdef _headgate headgate
`;
}

function fishScript(tree: readonly CompletedCommand[]): string {
  const lines = tree.flatMap(({ path, children, options, takesArguments }) => {
    const words = path === '' ? [] : path.split(' ');
    const seen = words.map((word) => `__fish_seen_subcommand_from ${word}`);
    const none =
      children.length === 0
        ? []
        : [`not __fish_seen_subcommand_from ${children.map(({ name }) => name).join(' ')}`];
    const condition = quoted([...seen, ...none].join('; and ') || 'true', 'fish');
    return [
      ...children.map(
        ({ name, description }) =>
          `complete -c headgate -n ${condition} -f -a ${quoted(name, 'fish')} -d ${quoted(description, 'fish')}`,
      ),
      ...options.map(
        ({ long, description, takesValue, choices }) =>
          `complete -c headgate -n ${condition} -l ${long.slice(2)}${takesValue ? ' -r' : ''}${choices.length === 0 ? '' : ` -f -a ${quoted(choices.join(' '), 'fish')}`} -d ${quoted(description, 'fish')}`,
      ),
      ...(takesArguments || children.length > 0 ? [] : [`complete -c headgate -n ${condition} -f`]),
    ];
  });
  return `# Completion of headgate for fish. Load it with: headgate completion fish | source\n${lines.join('\n')}\n`;
}
