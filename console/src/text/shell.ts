/** Words of the frame around the pages: navigation, sign-in, banners. */
export const shellWords = {
  navigation: 'Main',
  openNavigation: 'Menu',
  pages: {
    overview: 'Overview',
    apps: 'Apps',
    keys: 'API keys',
    edit: 'Edit as YAML',
    live: 'Live traffic',
    explain: 'Explain',
    shadow: 'Shadow mode',
    history: 'History',
    audit: 'Audit',
    events: 'Events',
    webhooks: 'Webhooks',
    health: 'Health',
    nodes: 'Gateways',
    access: 'Access',
    settings: 'Settings',
  },
  groups: { traffic: 'Traffic', configuration: 'Configuration', operation: 'Operation' },
  colourScheme: 'Colour scheme',
  schemes: { system: 'As the system', light: 'Light', dark: 'Dark' },
  notFound: 'There is no such page',
  notFoundDetail: 'The address may be mistyped, or what it showed may have been deleted.',
  toOverview: 'Go to the overview',
  pageFailed: 'This page has failed',
  fileAway:
    'A file of this page could not be loaded: the gateway does not answer, or now runs another version. Load the page again.',
  reload: 'Load the page again',
  stale: 'The database is away: what you see is the configuration in force, and nothing can be changed now.',
  unreachable: 'The gateway does not answer. Trying again …',
  signedInAs: (name: string, role: string): string => `${name} ${role}`,
  account: 'Account',
  signOut: 'Sign out',
} as const;

export const signInWords = {
  title: 'Sign in to Headgate',
  token: 'Admin token',
  tokenHint: 'The value of GATEWAY_ADMIN_TOKEN, or a token made for you under Access.',
  whereIsToken:
    'Started without GATEWAY_ADMIN_TOKEN? The first start made a token. It is in the file admin-token beside the database, data/admin-token by default; the log of that start names the file.',
  signIn: 'Sign in',
  signInWith: (name: string): string => `Sign in with ${name}`,
  ended: 'Your session has ended. Sign in again: what you typed is still there.',
  or: 'or',
  /** By error code. */
  failures: {
    sign_in_failed: 'The sign-in was cancelled or refused at the provider, or took too long. Try it again.',
    sign_in_forbidden:
      'Your account is in no group that has a role here. Ask for one, or use an admin token.',
    identity_provider_failed:
      'The provider did not answer as it should. Try it again later, or use an admin token.',
    storage_unavailable:
      'The database does not answer, and without it no session can begin. Try it again later.',
    too_many_auth_failures:
      'Too many sign-ins from your address have failed. Wait a minute, then try it again.',
  } as Readonly<Record<string, string>>,
  failed: 'The sign-in did not work. Try it again.',
} as const;
