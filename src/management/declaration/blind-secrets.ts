/**
 * Hides stored secrets from callers that may not learn them. A plan shows whether a declared value differs from the
 * stored one, which would confirm a guess. For such callers a stored secret is replaced by a random value wherever
 * the declared item has a secret in the clear, which then always counts as changed. A handle still stands for the
 * stored secret.
 */
import { randomHex } from '../../lib/ids.ts';
import { replaceSecrets } from '../write/policy-secrets-view.ts';
import type { Item } from './levels.ts';
import { isHandle } from './secret-handles.ts';

const SECRET_BYTES = 32;

/** A copy of a stored record in which no secret equals one that the item has in the clear. */
export function blindSecrets<T>(record: T, item: Item): T {
  return replaceSecrets(record, item, (stored, given) =>
    given === undefined || isHandle(given) ? stored : randomHex(SECRET_BYTES),
  );
}
