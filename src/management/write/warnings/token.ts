/** Warnings of an API key. */
import { timestamp } from '../../../lib/clock.ts';
import type { App, StoredApiKey } from '../../../model/resources.ts';
import { warning, type Warning } from '../../../model/warnings.ts';
import { PARTS } from '../../../policy/registry.ts';
import type { RuleContext } from '../rule-context.ts';

export async function tokenWarnings(app: App, key: StoredApiKey, rules: RuleContext): Promise<Warning[]> {
  return [...expiryWarnings(key, rules), ...(await policyWarnings(app, key, rules))];
}

/** Warnings about a new value, which the caller probably intends to use. */
export function rotationWarnings(key: StoredApiKey, rules: RuleContext): Warning[] {
  if (key.is_active) return expiryWarnings(key, rules);
  return [warning('key_disabled', '/is_active', `The key "${key.name}" has a new value but is disabled`)];
}

function expiryWarnings({ is_active, expires_at: expiry }: StoredApiKey, { clock }: RuleContext): Warning[] {
  if (!is_active || expiry === null || Date.parse(expiry) > clock.nowMs()) return [];
  return [warning('key_expired', '/expires_at', `The key expired at ${expiry}`)];
}

async function policyWarnings(
  app: App,
  key: StoredApiKey,
  { reader, clock }: RuleContext,
): Promise<Warning[]> {
  const policy = app.default_policy ?? {};
  const someKeyHasScopes = (scopes: readonly string[]) =>
    reader.someKeyHasScopes(app.id, scopes, timestamp(clock.nowMs()));
  const view = { app, policy, someKeyHasScopes };
  const found: Warning[] = [];
  for (const { name, keys } of PARTS)
    found.push(...((await keys?.warnings?.(policy[name] ?? undefined, key, view)) ?? []));
  return found;
}
