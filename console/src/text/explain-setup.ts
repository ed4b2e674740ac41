/** Words of what is asked of Explain beforehand: sampling and debug tokens. */
export const setupWords = {
  app: 'App',
  appHint: 'Its slug. Empty: all apps.',
  anyApp: 'all apps',
  minutes: 'Minutes',
  minutesHint: 'At most 60.',

  sampling: 'Sampling',
  samplingText:
    'Refused and failed requests can be explained by their ids anyway. While sampling is on, served ones can be, too.',
  share: 'Share of the requests (percent)',
  shareHint: 'At least 0.1.',
  on: (share: string, app: string): string => `Keeps ${share} of the requests of ${app}, until`,
  off: 'Off: only the most recent served requests are kept.',
  start: 'Start sampling',
  replace: 'Replace',
  stop: 'Stop sampling',
  stopTitle: 'Stop sampling?',
  stopText: 'From then on, only the most recent served requests are kept.',
  stopped: 'Sampling is off',

  tokens: 'Debug tokens',
  tokensText:
    'A client that sends one as X-Headgate-Debug gets the decision of the gateway as X-Headgate-Decision with each response.',
  noTokens: 'No debug token is in force.',
  createToken: 'Create debug token',
  tokenName: 'the debug token',
  tokenUse: 'Sent as X-Headgate-Debug with a request, until it expires.',
  columns: { app: 'Works for', created: 'Created', expires: 'Expires', actions: 'Actions' },
  revoke: 'Revoke',
  revokeOf: (app: string): string => `Revoke the debug token for ${app}`,
  revokeTitle: (app: string): string => `Revoke the debug token for ${app}?`,
  revokeText: 'Requests with it are answered as without it from then on.',
  revoked: 'Debug token revoked',
} as const;
