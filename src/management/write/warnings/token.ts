/** Warnings of an API key. */
import { timestamp } from '../../../lib/clock.ts';
import type { App, StoredApiKey } from '../../../model/resources.ts';
import { warning, type Warning } from '../../../model/warnings.ts';
import type { RuleContext } from '../../context.ts';

export async function tokenWarnings(app: App, key: StoredApiKey, rules: RuleContext): Promise<Warning[]> {
  return [...expiryWarnings(key, rules), ...(await scopeWarnings(app, key, rules))];
}

/** Of a new value, which is meant to be used. */
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
  const { auth, required_scopes: required } = app.default_policy ?? {};
  const missing = (required ?? []).filter((scope) => !key.scopes.includes(scope));
  if (missing.length === 0 || !required || (auth && auth.auth_type !== 'api_key')) return [];
  const isHeld = await rules.reader.someKeyHasScopes(app.id, required, timestamp(rules.clock.nowMs()));
  if (isHeld !== false) return [];
  const what = `The app "${app.slug}" requires ${required.join(', ')}, which no active key has; here ${missing.join(', ')} is missing`;
  return [warning('scopes_without_holder', '/scopes', what)];
}
