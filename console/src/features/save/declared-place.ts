/**
 * Where a write stands in the configuration files, and the declared tree after it. Pure; declared-change.ts reads the
 * tree and the names.
 */
import { applyPatch, isFields, valueAt, withValueAt, type Fields } from './merge-patch.ts';

/** A record below the apps, by the parameter of its path, and what names it in the files. */
interface Level {
  readonly parameter: string;
  /** In the files, where it is not that of the path. */
  readonly collection: string;
  /** Fields that are its name in the files: with others it is another record there. */
  readonly labels: readonly string[];
}

const LEVELS: Readonly<Record<string, Level>> = {
  apps: { parameter: 'app_id', collection: 'apps', labels: ['slug'] },
  versions: { parameter: 'version_id', collection: 'versions', labels: ['version'] },
  revisions: { parameter: 'revision_id', collection: 'revisions', labels: ['revision'] },
  endpoints: { parameter: 'endpoint_id', collection: 'endpoints', labels: ['method', 'path'] },
  tokens: { parameter: 'token_id', collection: 'keys', labels: ['name'] },
};

export interface DeclaredWrite {
  /** Of the apps that it touches, with everything below. */
  readonly config: Fields;
  /** What changes, at its place; of what goes away, the place alone. */
  readonly shown: Fields;
  /** `absent`: what stands at the place is left out. */
  readonly kind: 'present' | 'absent';
  /** It makes a key, which no recent request can have. */
  readonly isNewKey: boolean;
}

/** The records that a path leads through, and what follows them: a list, or a verb. */
export interface WritePath {
  readonly levels: readonly Level[];
  /** The template of each of them. */
  readonly templates: readonly string[];
  readonly rest: string | undefined;
}

/** @returns undefined for what is not below the apps */
export function writePathOf(template: string): WritePath | undefined {
  const segments = template.split('/').slice(1);
  const levels: Level[] = [];
  const templates: string[] = [];
  while (segments.length > 1) {
    const level = LEVELS[segments[0] ?? ''];
    if (level === undefined || segments[1] !== `{${level.parameter}}`) return undefined;
    templates.push(`${templates.at(-1) ?? ''}/${segments.splice(0, 2).join('/')}`);
    levels.push(level);
  }
  const [rest] = segments;
  return levels.length === 0 && rest !== 'apps' ? undefined : { levels, templates, rest };
}

/** What a record is called in the files. */
export function labelOf(record: Fields, { labels }: Level): string {
  return labels.map((name) => String(record[name])).join(' ');
}

/** In the files, keys that share a name have the end of their id after it. */
export function keyLabel(config: Fields, slug: string, { name, id }: Fields): string {
  const own = `${String(name)} (${String(id).slice(-6)})`;
  return valueAt(config, ['apps', slug, 'keys', own]) === undefined ? String(name) : own;
}

interface Write {
  readonly method: string;
  readonly path: WritePath;
  /** The names of the records that the path leads through. */
  readonly names: readonly string[];
  readonly body: unknown;
}

/** @returns undefined where files cannot say it */
export function declaredWrite(config: Fields, write: Write): DeclaredWrite | undefined {
  const { method, path, names, body } = write;
  const { levels, rest } = path;
  const place = levels.flatMap(({ collection }, index) => [collection, names[index] ?? '']);
  const fields = isFields(body) ? body : {};
  if (method === 'PATCH' && rest === undefined) return patched(config, place, levels.at(-1), fields);
  if (method === 'DELETE' && rest === undefined) return deleted(config, place);
  if (method === 'POST' && LEVELS[rest ?? ''] !== undefined)
    return created(config, place, LEVELS[rest ?? ''], fields);
  if (method === 'PUT' && rest === 'traffic')
    return withShares(config, place, (label) => (Object.hasOwn(fields, label) ? fields[label] : false));
  const own = names.at(-1);
  const version = place.slice(0, -2);
  if (rest === 'deactivate')
    return withShares(config, version, (label) => (label === own ? false : undefined));
  if (rest !== 'activate') return undefined;
  return withShares(config, version, (label) =>
    label === own ? true : fields['exclusive'] === true ? false : undefined,
  );
}

const present = (config: Fields, shown: Fields): DeclaredWrite => ({
  config,
  shown,
  kind: 'present',
  isNewKey: false,
});

function patched(
  config: Fields,
  place: readonly string[],
  level: Level | undefined,
  patch: Fields,
): DeclaredWrite | undefined {
  const item = valueAt(config, place);
  const isRenamed = level?.labels.some((name) => Object.hasOwn(patch, name)) === true;
  // A key that has expired does not stand in the tree.
  if (isRenamed || (item === undefined && place.includes('keys'))) return undefined;
  const next = applyPatch(item ?? {}, patch);
  const shown = Object.keys(patch).map((name) => [name, valueAt(next, [name]) ?? null] as const);
  return present(withValueAt(config, place, next), withValueAt({}, place, Object.fromEntries(shown)));
}

function deleted(config: Fields, place: readonly string[]): DeclaredWrite {
  // A plan without an owner leaves apps alone that it does not name; one without versions serves as little.
  const isApp = place.length === 2;
  const next = isApp
    ? withValueAt(config, [...place, 'versions'], undefined)
    : withValueAt(config, place, undefined);
  return { config: next, shown: withValueAt({}, place, null), kind: 'absent', isNewKey: false };
}

function created(
  config: Fields,
  above: readonly string[],
  level: Level | undefined,
  body: Fields,
): DeclaredWrite | undefined {
  if (level === undefined || level.labels.some((name) => typeof body[name] !== 'string')) return undefined;
  const { copy_endpoints_from: source, token, ...fields } = body;
  const own = Object.entries(fields).filter(([name]) => !level.labels.includes(name));
  const item = {
    ...(applyPatch({}, Object.fromEntries(own)) as Fields),
    // Values of keys stand in files by reference alone.
    ...(token !== undefined && { token: '${env:KEY}' }),
    ...(typeof source === 'string' && { endpoints: endpointsOf(config, above, source) }),
  };
  const place = [...above, level.collection, labelOf(body, level)];
  const next = withValueAt(config, place, item);
  return { ...present(next, withValueAt({}, place, item)), isNewKey: level.collection === 'keys' };
}

/** @param source label of a revision of the same version, or `version/revision` */
function endpointsOf(config: Fields, version: readonly string[], source: string): unknown {
  const [revision = '', other] = source.split('/').toReversed();
  const from = other === undefined ? version : [...version.slice(0, -1), other];
  return valueAt(config, [...from, 'revisions', revision, 'endpoints']) ?? {};
}

/**
 * @param shareOf the weight of a revision that gets traffic, true for that it has, false for none, undefined where it
 *   stays as it is
 */
function withShares(
  config: Fields,
  version: readonly string[],
  shareOf: (label: string) => unknown,
): DeclaredWrite {
  let next = config;
  let shown: Fields = {};
  for (const label of Object.keys(valueAt(config, [...version, 'revisions']) ?? {})) {
    const share = shareOf(label);
    const place = [...version, 'revisions', label];
    const item = valueAt(config, place) ?? {};
    const isCurrent = valueAt(item, ['is_current']) === true;
    if (share === undefined || (share === false && !isCurrent)) continue;
    const patch = {
      is_current: share !== false,
      ...(typeof share === 'number' && { traffic_weight: share }),
    };
    next = withValueAt(next, place, applyPatch(item, patch));
    shown = withValueAt(shown, place, patch);
  }
  return present(next, shown);
}

/** Several calls, such as those of the first app: creations of records below it, which name those above by `${id…}`. */
export function declaredTransaction(operations: readonly unknown[]): DeclaredWrite | undefined {
  let config: Fields = {};
  const names = new Map<string, string>();
  for (const operation of operations) {
    const { id, method, path, body } = operation as Fields;
    const segments = String(path)
      .replace(/^\/api\/v1/, '')
      .split('/')
      .slice(1);
    const place = segments.slice(0, -1).map((segment, index) => {
      const [, named] = /^\$\{(\w+)\.id\}$/.exec(segment) ?? [];
      return index % 2 === 0 ? (LEVELS[segment]?.collection ?? '') : (names.get(named ?? '') ?? '');
    });
    const level = LEVELS[segments.at(-1) ?? ''];
    if (method !== 'POST' || !isFields(body) || place.includes('')) return undefined;
    const made = created(config, place, level, body);
    if (made === undefined || level === undefined) return undefined;
    config = made.config;
    names.set(String(id), labelOf(body, level));
  }
  return present(config, config);
}
