/** Two edits of one document, field by field: what each changed since they began, and both in one. Pure. */
import { isFields, isSame, valueAt, withValueAt, type Fields } from './merge-patch.ts';

export type Side = 'mine' | 'theirs';

export interface Difference {
  readonly path: readonly string[];
  /** undefined: not there. */
  readonly base: unknown;
  readonly mine: unknown;
  readonly theirs: unknown;
  /** Who changed the field: one side, or both to different values. */
  readonly by: Side | 'both';
}

/** The fields in which the sides differ. Lists count as one value. */
export function differences(
  base: unknown,
  mine: unknown,
  theirs: unknown,
  path: readonly string[] = [],
): Difference[] {
  if (isFields(mine) && isFields(theirs)) {
    const names = new Set([...Object.keys(theirs), ...Object.keys(mine)]);
    return [...names].flatMap((name) =>
      differences(valueAt(base, [name]), valueAt(mine, [name]), valueAt(theirs, [name]), [...path, name]),
    );
  }
  if (isSame(mine, theirs)) return [];
  const by = isSame(base, mine) ? 'theirs' : isSame(base, theirs) ? 'mine' : 'both';
  return [{ path, base, mine, theirs, by }];
}

/** The fields beside certain values of which alone a field counts, such as the protocol of a port. */
export type DecidersOf = (name: string) => readonly string[];

/** The same differences: what decides over a change of mine is asked about, also where only theirs has changed it. */
export function withDeciders(found: readonly Difference[], decidersOf: DecidersOf): Difference[] {
  const deciders = new Set(
    found.filter(({ by }) => by !== 'theirs').flatMap(({ path }) => decidersOf(path.join('.'))),
  );
  return found.map((one) =>
    one.by === 'theirs' && deciders.has(one.path.join('.')) ? { ...one, by: 'both' } : one,
  );
}

/** Without the fields that do not count beside what is taken of theirs. */
export function thatCount(
  found: readonly Difference[],
  choices: ReadonlyMap<string, Side>,
  decidersOf: DecidersOf,
): Difference[] {
  const theirs = new Set(
    found.filter((one) => sideOf(one, choices) === 'theirs').map(({ path }) => path.join('.')),
  );
  return found.filter(({ path }) => !decidersOf(path.join('.')).some((name) => theirs.has(name)));
}

export const keyOf = ({ path }: Pick<Difference, 'path'>): string => JSON.stringify(path);

/** The side whose value counts; undefined where the reader has to say. */
export function sideOf(difference: Difference, choices: ReadonlyMap<string, Side>): Side | undefined {
  return choices.get(keyOf(difference)) ?? (difference.by === 'both' ? undefined : difference.by);
}

/** Theirs, with what is taken of mine. */
export function merged(
  theirs: Fields,
  found: readonly Difference[],
  choices: ReadonlyMap<string, Side>,
): Fields {
  return found
    .filter((difference) => sideOf(difference, choices) === 'mine')
    .reduce((fields, { path, mine }) => withValueAt(fields, path, mine), theirs);
}

/** Without members that are null, which mean the same as none. */
export function withoutNulls(value: unknown): unknown {
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([name, member]) => [name, withoutNulls(member)]),
  );
}
