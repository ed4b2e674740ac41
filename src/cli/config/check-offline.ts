/**
 * Checks a declared configuration without a gateway: with the schema of the API, and then by applying it to an empty
 * configuration in memory, so that every rule of the resources runs. Only the plan of a gateway can check the rest:
 * secrets behind handles, and where it may connect.
 */
import { withLineBreaks } from '../../declaration/field-lines.ts';
import { systemClock } from '../../lib/clock.ts';
import type { FieldError } from '../../model/errors.ts';
import type { Warning } from '../../model/warnings.ts';
import { isFailure } from '../../management/api/failure.ts';
import { validate } from '../../management/api/validate.ts';
import { changeWarnings } from '../../management/write/warnings/change-warnings.ts';
import { applyTree } from '../../management/declaration/apply-tree.ts';
import { DOCUMENT_SCHEMA } from '../../management/declaration/document-schema.ts';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import { openSqlite } from '../../storage/sqlite/sqlite.ts';

/** A stand-in for secrets, long enough for every rule. */
const ANY_SECRET = 'x'.repeat(64);

export interface OfflineCheck {
  /** Errors, with pointers into the configuration. */
  readonly errors: readonly FieldError[];
  /** Values that are valid and probably not intended, as far as that can be seen without a gateway. */
  readonly warnings: readonly Warning[];
}

export async function checkOffline(config: unknown): Promise<OfflineCheck> {
  const { errors, warnings } = await check(config);
  return { errors: withLineBreaks(errors, config), warnings };
}

async function check(config: unknown): Promise<OfflineCheck> {
  const errors = validate(DOCUMENT_SCHEMA, config);
  if (errors.length > 0) return { errors, warnings: [] };
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
      const log = await applyTree(writer, rules, withoutHandles(config) as object, options);
      return { abort: isFailure(log) ? log : await changeWarnings(log.changes, rules) };
    });
    if (!isFailure(value)) return { errors: [], warnings: value };
    return { errors: value.errors ?? [{ pointer: '', detail: value.detail }], warnings: [] };
  } finally {
    await repository.close();
  }
}

/** A stand-in for the default limit, which the settings of the gateway may contain. */
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
