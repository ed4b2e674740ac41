/** Warnings of `required_scopes`: scopes that no caller can have. */
import { warningOf, type Warning } from '../../../model/warnings.ts';
import { authOf, givenAuth } from '../auth/auth-of.ts';
import type { WarningRule } from '../../part.ts';
import type { PartOfKeys } from '../../records/part-records.ts';

type KeyWarnings = NonNullable<PartOfKeys<readonly string[]>['warnings']>;

export const scopesWithoutHolder: WarningRule<readonly string[]> = {
  code: 'scopes_without_holder',
  title: 'A required scope is missing from every active API key of the app: every key is refused',
  advice: 'Give the scopes to a key, or correct their spelling',
  find: async (scopes, { app, effective, isOwn, pointer }, facts) => {
    if (scopes.length === 0 || !isOwn) return [];
    const auth = givenAuth(effective.policy);
    if (auth !== undefined && auth.auth_type !== 'api_key') return [];
    const isHeld = await facts.someKeyHasScopes(app.id, scopes);
    if (isHeld !== false) return [];
    const what = `No active key of the app "${app.slug}" has the scopes ${scopes.join(', ')}`;
    return [{ pointer, what }];
  },
};

export const scopeWithSpace: WarningRule<readonly string[]> = {
  code: 'scope_with_space',
  title: 'A scope contains a space: it is one scope, and is not in `X-Headgate-Scopes`',
  advice: 'List each scope by itself',
  find: (scopes, { isOwn, pointer }) =>
    isOwn ? withSpace(scopes).map(({ index, what }) => ({ pointer: `${pointer}/${index}`, what })) : [],
};

interface ScopeWithSpace {
  readonly index: number;
  readonly what: string;
}

/** Scopes are often written as one text with spaces between them, as in a JWT. */
function withSpace(scopes: readonly string[]): ScopeWithSpace[] {
  return scopes.flatMap((scope, index) =>
    /\s/.test(scope) ? [{ index, what: `The scope "${scope}" contains a space, so it is one scope` }] : [],
  );
}

export const keyWarnings: KeyWarnings = async (required = [], key, view) => [
  ...keyScopeWarnings(key.scopes),
  ...(await holderWarnings(required, key, view)),
];

const keyScopeWarnings = (scopes: readonly string[]): Warning[] =>
  withSpace(scopes).map(({ index, what }) => warningOf(scopeWithSpace, `/scopes/${index}`, what));

/** Only the scopes that the app requires on all routes: a key does not say which other routes it is for. */
const holderWarnings: KeyWarnings = async (required = [], key, view) => {
  const missing = required.filter((scope) => !key.scopes.includes(scope));
  const { app, policy } = view;
  if (missing.length === 0 || authOf(policy)?.auth_type !== 'api_key') return [];
  const isHeld = await view.someKeyHasScopes(required);
  if (isHeld !== false) return [];
  const what = `The app "${app.slug}" requires ${required.join(', ')}, which no active key has; here ${missing.join(', ')} is missing`;
  return [warningOf(scopesWithoutHolder, '/scopes', what)];
};

export const scopesWithoutAuth: WarningRule<readonly string[]> = {
  code: 'scopes_without_auth',
  title: 'Scopes are required where `auth_type` is `none`: every request is refused',
  advice: 'Let the route authenticate callers, or require no scopes (`[]`) at the same level',
  find: (scopes, { effective, isOwn, isOwnPart, pointer, policyPointer }) => {
    if (givenAuth(effective.policy)?.auth_type !== 'none' || scopes.length === 0) return [];
    if (isOwnPart('auth')) {
      const level = effective.sources['required_scopes']?.level ?? '';
      const what = `No caller can have a scope here: the ${level} requires scopes`;
      return [{ pointer: `${policyPointer}/auth`, what }];
    }
    if (!isOwn) return [];
    const level = effective.sources['auth']?.level ?? '';
    return [{ pointer, what: `No caller can have a scope here: the ${level} has auth_type "none"` }];
  },
};
