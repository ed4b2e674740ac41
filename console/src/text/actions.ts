/** Sentences for the actions of the audit log and of the history. */

/** Kinds of records: how a sentence calls one, and how many names lead to it from the app down. */
const KINDS: Readonly<Record<string, { readonly noun: string; readonly depth?: number }>> = {
  app: { noun: 'the app', depth: 1 },
  version: { noun: 'the version', depth: 2 },
  revision: { noun: 'the revision', depth: 3 },
  endpoint: { noun: 'the endpoint', depth: 4 },
  token: { noun: 'the API key', depth: 2 },
  admin_token: { noun: 'the admin token' },
  webhook: { noun: 'the webhook' },
};

const VERBS: Readonly<Record<string, string>> = {
  create: 'Created',
  update: 'Changed',
  delete: 'Deleted',
  rotate: 'Rotated',
  activate: 'Activated',
  deactivate: 'Deactivated',
  traffic: 'Split the traffic of',
};

const WHOLE: Readonly<Record<string, (name: string) => string>> = {
  'certificate.renew': (name) => `Asked for a new certificate of ${name}`,
  'config.apply': () => 'Applied a configuration',
  'config.backup': () => 'Took a backup',
  'config.change': () => 'Changed the configuration',
  'profile.create': (name) => `Took a profile of ${name}`,
  'config.rollback': () => 'Rolled back the configuration',
  'login.refused': () => 'Refused admin tokens',
  'secrets.rekey': () => 'Encrypted all secrets with the first secret key',
  'session.sign_in': () => 'Signed in',
  'session.sign_out': () => 'Signed out',
  'session.revoke': (name) => `Signed out ${name}`,
  'shadow_report.reset': (name) => `Emptied the shadow report of ${name}`,
  'webhook.resend': (name) => `Sent events again to the webhook ${name}`,
  'webhook.forget': (name) => `Forgot what the webhook ${name} did not get`,
  'transaction.run': () => 'Made several changes at once',
};

/** Every action with a sentence, for suggestions. */
export const KNOWN_ACTIONS: readonly string[] = [
  ...Object.keys(KINDS).flatMap((kind) => ['create', 'update', 'delete'].map((verb) => `${kind}.${verb}`)),
  'revision.activate',
  'revision.deactivate',
  'token.rotate',
  'version.traffic',
  'webhook.rotate',
  ...Object.keys(WHOLE),
];

/**
 * @param path names from the app down to the record, or to one below it; the sentence has those down to the record
 * @returns such as "Changed the app shop"; the action itself when it has no words
 */
export function actionText(action: string, path: readonly string[]): string {
  const whole = WHOLE[action];
  if (whole !== undefined) return whole(path.at(-1) ?? '').trim();
  const [kind = '', verb = ''] = action.split('.');
  const { noun, depth } = KINDS[kind] ?? {};
  const done = VERBS[verb];
  if (noun === undefined || done === undefined) return action;
  return `${done} ${noun} ${path.slice(0, depth).join(' / ')}`.trim();
}
