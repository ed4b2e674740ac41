/** Names of commands that other programs have, with what does the same here, for the answer to an unknown command. */

const HERE: Readonly<Record<string, readonly string[]>> = {
  version: ['--version', 'versions'],
  run: ['start'],
  serve: ['start'],
  up: ['start'],
  status: ['health', 'state'],
  ready: ['health'],
  ping: ['health'],
  login: ['context add'],
  logs: ['live', 'events'],
  sync: ['config apply'],
  lint: ['config validate'],
  export: ['config dump'],
  services: ['apps'],
  routes: ['endpoints', 'apps'],
  upstreams: ['revisions'],
  backends: ['revisions'],
  consumers: ['keys'],
  tokens: ['keys', 'admin-tokens'],
  token: ['keys', 'admin-tokens'],
};

/** Where there is no command for it. */
const INSTEAD: Readonly<Record<string, string>> = {
  stop: 'the gateway stops when its process gets SIGTERM or SIGINT',
  restart:
    'the gateway stops when its process gets SIGTERM or SIGINT; "headgate start --take-over" replaces it',
  reload: 'changes of the configuration apply at once, and settings at the next start',
};

/** The end of the message about the unknown command; undefined where its name is no usual one. */
export function usualName(name: string): string | undefined {
  const here = Object.hasOwn(HERE, name) ? HERE[name] : undefined;
  if (here !== undefined) return `did you mean ${here.map((each) => `"${each}"`).join(' or ')}?`;
  return Object.hasOwn(INSTEAD, name) ? INSTEAD[name] : undefined;
}
