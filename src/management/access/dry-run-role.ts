/**
 * Who may dry-run the operations of a transaction. A dry run changes nothing, so the role viewer is enough, except
 * with a secret in the clear: its result would show whether the secret equals the stored one, which a viewer must
 * not learn.
 */
import { isDeepStrictEqual } from 'node:util';
import { fail, type Failure } from '../api/failure.ts';
import type { Operation } from '../api/operation.ts';
import { MASK, replaceSecrets } from '../write/policy-secrets-view.ts';
import { checkRole, type Actor } from './admin-auth.ts';

/** Whether the actor may call the operation; `refusedSecret` checks the body. */
export function checkAccess(actor: Actor, { access }: Operation, isDryRun: boolean): Failure | undefined {
  if (access === 'public') return undefined;
  return checkRole(actor, isDryRun && access === 'editor' ? 'viewer' : access);
}

/** Why a viewer may not dry-run a write with this body; undefined when it may. */
export function refusedSecret(actor: Actor, { access }: Operation, body: unknown): Failure | undefined {
  if (access !== 'editor' || actor.role !== 'viewer') return undefined;
  const masked = replaceSecrets(body, undefined, () => MASK);
  if (isDeepStrictEqual(masked, body)) return undefined;
  return fail(
    'forbidden',
    `A dry run with a secret needs the role "editor"; send "${MASK}" for the stored one`,
  );
}
