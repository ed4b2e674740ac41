/** The differences between two states of a record, field by field, as text. Pure. */
export interface FieldDifference {
  /** With dots for nested fields: `default_policy.rate_limit.requests`. */
  readonly name: string;
  /** undefined: not set. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

type Values = Readonly<Record<string, unknown>>;

/** Fields that change with every write, and say nothing. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['id', 'created_at', 'updated_at', 'app_id']);

/** @param fields as the API lists changes: each with `before` and `after` */
export function listedDifferences(fields: Values): FieldDifference[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    const { before, after } = isValues(value) ? value : { before: undefined, after: value };
    return differences(name, before, after);
  });
}

/** @param before null: the record was created; @param after null: it was deleted */
export function recordDifferences(before: Values | null, after: Values | null): FieldDifference[] {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  return names
    .filter((name) => !OWN_FIELDS.has(name))
    .flatMap((name) => differences(name, before?.[name], after?.[name]));
}

function differences(name: string, before: unknown, after: unknown): FieldDifference[] {
  if (isValues(before) || isValues(after)) {
    const [old, fresh] = [isValues(before) ? before : {}, isValues(after) ? after : {}];
    const inside = [...new Set([...Object.keys(old), ...Object.keys(fresh)])];
    return inside.flatMap((part) => differences(`${name}.${part}`, old[part], fresh[part]));
  }
  const [old, fresh] = [textOf(before), textOf(after)];
  return old === fresh ? [] : [{ name, before: old, after: fresh }];
}

function isValues(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
