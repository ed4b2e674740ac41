/** Warnings of `required_scopes`: scopes that no caller can hold. */
import { givenAuth } from '../auth/auth-of.ts';
import type { WarningRule } from '../../part.ts';

export const scopesWithoutHolder: WarningRule<readonly string[]> = {
  code: 'scopes_without_holder',
  title: 'Scopes are required that no active API key of the app has: every key is refused',
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

export const scopesWithoutAuth: WarningRule<readonly string[]> = {
  code: 'scopes_without_auth',
  title: 'Scopes are required where `auth_type` is `none`: every request is refused',
  advice: 'Let the route authenticate, or require no scopes (`[]`) at the same level',
  find: (scopes, { effective, isOwn, isOwnPart, pointer, policyPointer }) => {
    if (givenAuth(effective.policy)?.auth_type !== 'none' || scopes.length === 0) return [];
    if (isOwnPart('auth')) {
      const level = effective.sources['required_scopes']?.level ?? '';
      const what = `No caller can hold a scope here: the ${level} requires scopes`;
      return [{ pointer: `${policyPointer}/auth`, what }];
    }
    if (!isOwn) return [];
    const level = effective.sources['auth']?.level ?? '';
    return [{ pointer, what: `No caller can hold a scope here: the ${level} has auth_type "none"` }];
  },
};
