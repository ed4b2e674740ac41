/** Words of saving. */
export const saveWords = {
  sameAsCurl: 'The same change with curl',
  why: 'Why (for the history)',
  whyHint: 'Optional. It stands beside the change in the history of the configuration.',
  effects: (endpoints: number, keys: number): string => {
    if (endpoints === 0 && keys === 0) return 'No route and no key changes by this.';
    const parts = [
      endpoints > 0 && `${endpoints} ${endpoints === 1 ? 'route changes' : 'routes change'}`,
      keys > 0 && `${keys} ${keys === 1 ? 'API key changes' : 'API keys change'}`,
    ].filter(Boolean);
    return `By this ${parts.join(' and ')}.`;
  },
} as const;
