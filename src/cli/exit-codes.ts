/** Exit codes of the command line; docs/reference/command-line.md lists them. */
export const EXIT_CODES = {
  ok: {
    code: 0,
    meaning: 'The command is done; for `start`: the gateway was asked to stop and has stopped.',
  },
  failed: {
    code: 1,
    meaning:
      'The command failed, or the command line or a setting is wrong. Standard error says why in plain lines.',
  },
  differs: {
    code: 2,
    meaning:
      '`config plan`, `config rollback --dry-run` or `import` found that something would change; `config diff` found a difference.',
  },
  interrupted: { code: 130, meaning: '`start` was ended by the third Ctrl-C before its requests were done.' },
  unread: {
    code: 141,
    meaning:
      'The program that reads the output, such as `head`, ended before all of it was written. Shells give this code to programs that SIGPIPE ends.',
  },
} as const;
