/** Names of the writers. History and audit log have ids, which stay when an admin token is deleted. */
import { useMemo } from 'react';
import { useRead } from '../api/queries.ts';
import { words } from '../text/words.ts';
import { useMay } from './session.ts';

/** The most that the API gives at once. */
const TOKENS_NAMED = 500;

export interface ActorNames {
  /** Names by id from the API; only admins may read them. */
  readonly known: readonly { readonly id: string; readonly name: string }[];
  /** Undefined where the id is all there is. */
  readonly nameOf: (actor: string) => string | undefined;
}

export function useActorNames(): ActorNames {
  const isAdmin = useMay('admin');
  const tokens = useRead('GET /admin/tokens', { query: { limit: TOKENS_NAMED } }, { enabled: isAdmin });
  const listed = tokens.data?.body.data;
  return useMemo(() => {
    const known = listed ?? [];
    const names = new Map(known.map(({ id, name }) => [id, name]));
    return { known, nameOf: (actor) => names.get(actor) ?? nameWithoutToken(actor) };
  }, [listed]);
}

/** The token of the environment has no record, and so no name of its own. */
export function actorLabel(actor: string): string {
  return nameWithoutToken(actor) ?? actor;
}

function nameWithoutToken(actor: string): string | undefined {
  return actor === 'environment' ? words.environmentToken : undefined;
}
