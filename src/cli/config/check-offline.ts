/**
 * Checks a declared configuration without a gateway: by the very schema of the API, and then by applying it to an empty
 * configuration in memory, so that every rule of the resources is asked. What only a gateway knows is left to its plan:
 * secrets behind handles, and where it may connect.
 */
import { systemClock } from '../../lib/clock.ts';
import type { FieldError } from '../../model/errors.ts';
import { isFailure } from '../../management/api/failure.ts';
import { validate } from '../../management/api/validate.ts';
import { applyTree } from '../../management/declaration/apply-tree.ts';
import { DOCUMENT_SCHEMA } from '../../management/declaration/document-schema.ts';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import { openSqlite } from '../../storage/sqlite/sqlite.ts';

/** Long enough for every rule about secrets. */
const ANY_SECRET = 'x'.repeat(64);

/** @returns what is wrong, with pointers into the configuration; empty when nothing is */
export async function checkOffline(config: unknown): Promise<readonly FieldError[]> {
  const errors = validate(DOCUMENT_SCHEMA, config);
  if (errors.length > 0) return errors;
  const repository = await openSqlite({
    path: ':memory:',
    secretPlaces: SECRET_PLACES,
    autoMigrate: true,
    clock: systemClock,
  });
  try {
    const { value } = await repository.write(async (writer) => {
      const rules = {
        reader: writer,
        clock: systemClock,
        policyGlobals: ANY_LIMIT,
        jwtDefaults: NO_JWT,
        egress: ANYWHERE,
      };
      const options = { owner: undefined, adopt: true, prune: false, deletesMax: 0 };
      return { abort: await applyTree(writer, rules, withoutHandles(config) as object, options) };
    });
    if (!isFailure(value)) return [];
    return value.errors ?? [{ pointer: '', detail: value.detail }];
  } finally {
    await repository.close();
  }
}

/** What a limit leaves out may be in the settings of the gateway. */
const ANY_LIMIT = { requests: 1, windowSeconds: 1 };
const ANYWHERE = { hostDenial: () => undefined };
const NO_JWT = {
  issuer: undefined,
  audiences: [],
  jwksUri: undefined,
  secret: undefined,
  algorithms: [],
  leewaySecs: 0,
};

function withoutHandles(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith('${sealed:') ? ANY_SECRET : value;
  if (Array.isArray(value)) return value.map(withoutHandles);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutHandles(member)]));
}
