/** The ways in which a caller is identified; `anonymous`: before and without authentication. */
export const CALLER_KINDS = ['anonymous', 'api_key', 'jwt', 'mtls'] as const;
export type CallerKind = (typeof CALLER_KINDS)[number];
