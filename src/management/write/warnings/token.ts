/** Warnings of an API key. */
import { timestamp } from '../../../lib/clock.ts';
import type { App, StoredApiKey } from '../../../model/resources.ts';
import { warning, warningOf, type Warning } from '../../../model/warnings.ts';
import { authOf } from '../../../policy/parts/auth/auth-of.ts';
import { requiredScopes } from '../../../policy/parts/scopes/schema.ts';
import { scopesWithoutHolder } from '../../../policy/parts/scopes/warnings.ts';
import type { RuleContext } from '../rule-context.ts';

export async function tokenWarnings(app: App, key: StoredApiKey, rules: RuleContext): Promise<Warning[]> {
  return [...expiryWarnings(key, rules), ...(await scopeWarnings(app, key, rules))];
}

/** Warnings about a new value: it is meant to be used. */
export function rotationWarnings(key: StoredApiKey, rules: RuleContext): Warning[] {
  if (key.is_active) return expiryWarnings(key, rules);
  return [warning('key_disabled', '/is_active', `The key "${key.name}" has a new value and is disabled`)];
}

function expiryWarnings({ is_active, expires_at: expiry }: StoredApiKey, { clock }: RuleContext): Warning[] {
  if (!is_active || expiry === null || Date.parse(expiry) > clock.nowMs()) return [];
  return [warning('key_expired', '/expires_at', `The key expired at ${expiry}`)];
}

/** Only what the app asks of all of its routes: which of the others the key is for, it does not say. */
async function scopeWarnings(app: App, key: StoredApiKey, rules: RuleContext): Promise<Warning[]> {
  const policy = app.default_policy ?? {};
  const required = requiredScopes(policy);
  const missing = required.filter((scope) => !key.scopes.includes(scope));
  if (missing.length === 0 || authOf(policy)?.auth_type !== 'api_key') return [];
  const isHeld = await rules.reader.someKeyHasScopes(app.id, required, timestamp(rules.clock.nowMs()));
  if (isHeld !== false) return [];
  const what = `The app "${app.slug}" requires ${required.join(', ')}, which no active key has; here ${missing.join(', ')} is missing`;
  return [warningOf(scopesWithoutHolder, '/scopes', what)];
}
