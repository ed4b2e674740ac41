/**
 * How records of the configuration appear in a declared tree: under which label, with which fields, and with which
 * defaults left out. The only place that knows both the tree and the resources; all other code here works with
 * levels.
 */
import { isDeepStrictEqual } from 'node:util';
import { timestamp } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { isObject } from '../../lib/is-object.ts';
import type { Endpoint, Revision, StoredApiKey, Target, Version } from '../../model/resources.ts';
import { jsonSchema, type JsonSchema } from '../../model/json-schema.ts';
import type { Warning } from '../../model/warnings.ts';
import type { ConfigWriter } from '../../storage/repository.ts';
import { fail, isFailure, type Failure } from '../api/failure.ts';
import { alternativesOf, requireOneOf } from '../../model/json-schema.ts';
import { validate } from '../api/validate.ts';
import type { RuleContext } from '../write/rule-context.ts';
import type { Resource, StoredRecord } from '../crud/resource.ts';
import { DeclaredKeyValueSchema } from '../schemas/api-key.ts';
import { PORT_DEFAULT, TARGET_WEIGHT_DEFAULT } from '../schemas/revision-parts/targets.ts';
import { apps } from '../routes/resources/apps.ts';
import { endpoints } from '../routes/resources/endpoints.ts';
import { revisions } from '../routes/resources/revisions.ts';
import { tokens } from '../routes/resources/tokens.ts';
import { versions } from '../routes/resources/versions.ts';
import { nextUpdatedAt } from '../write/write.ts';

export type LevelName = 'app' | 'version' | 'revision' | 'endpoint' | 'key';
export type Item = Readonly<Record<string, unknown>>;

/** A record that was created, changed, or is unchanged. */
interface Stored {
  readonly record: StoredRecord;
  /** undefined when nothing had to change. */
  readonly change: 'create' | 'update' | undefined;
  /** The value of a key that was created now. */
  readonly token: string | undefined;
}

export interface Level {
  readonly name: LevelName;
  /** The member of the level above that contains the items of this level. */
  readonly collection: string;
  /** Collections below an item. */
  readonly below: readonly string[];
  /** Fields of an item: those of the resource without its label. */
  readonly schema: JsonSchema;
  readonly description: string;
  /** The declaration of a record, without defaults. */
  itemOf(record: StoredRecord, label: string): Item;
  /** The record's own label. */
  labelOf(record: StoredRecord): string;
  /** Creates the declared record, or changes `previous` into it. Pointers of failures begin at the item. */
  store(
    writer: ConfigWriter,
    rules: RuleContext,
    scope: object,
    label: string,
    item: Item,
    previous: StoredRecord | undefined,
    /** Id of a new record; undefined: any. */
    id: string | undefined,
  ): Promise<Stored | Failure>;
  remove(writer: ConfigWriter, record: StoredRecord): Promise<boolean>;
  /** The resource's warnings about a written record, or about the state after a deletion. */
  warnings(
    rules: RuleContext,
    scope: object,
    record: StoredRecord,
    previous: StoredRecord | undefined,
  ): Promise<readonly Warning[]>;
  removalWarnings(rules: RuleContext, scope: object, removed: StoredRecord): Promise<readonly Warning[]>;
}

interface Labelling<I, R> {
  readonly name: LevelName;
  readonly collection: string;
  readonly description: string;
  readonly below: readonly string[];
  /** Input fields that follow from the label. */
  readonly labelFields: readonly string[];
  readonly labelOf: (record: R) => string;
  /** The input of the resource for an item. */
  readonly inputOf: (label: string, item: Item) => I | Failure;
  /** Default values that follow from the label, in addition to the schema's. */
  readonly defaultsOf?: (label: string) => Item;
  /** Fields of an item that no dump shows, in addition to those of the input. */
  readonly hiddenFields?: Readonly<Record<string, JsonSchema>>;
  /** Replaces `Resource.writable`. */
  readonly writable?: (record: R) => Item;
}

function level<S extends object, I, R extends StoredRecord>(
  resource: Resource<S, I, R>,
  labelling: Labelling<I, R>,
): Level {
  const { labelFields, hiddenFields = {} } = labelling;
  const { properties = {}, required = [] } = resource.inputSchema;
  const fields = Object.fromEntries(
    Object.entries(properties).filter(([name]) => !labelFields.includes(name)),
  );
  const inputSchema: JsonSchema = {
    ...resource.inputSchema,
    properties: { ...properties, ...hiddenFields },
  };
  const defaultsFor: (label: string) => Item = labelling.defaultsOf ?? (() => ({}));
  const own: JsonSchema = {
    type: 'object',
    properties: { ...fields, ...hiddenFields },
    required: required.filter((name) => !labelFields.includes(name) && !(name in defaultsFor('x'))),
    additionalProperties: false,
  };
  const schema = requireOneOf(own, alternativesOf(resource.inputSchema));
  return {
    name: labelling.name,
    collection: labelling.collection,
    description: labelling.description,
    below: labelling.below,
    schema,
    labelOf: (record) => labelling.labelOf(record as R),
    itemOf(record, label) {
      const writable = labelling.writable?.(record as R) ?? resource.writable(record as R);
      const defaults = defaultsFor(label);
      return Object.fromEntries(
        Object.entries(writable).filter(
          ([name, value]) =>
            name in fields &&
            !isDefault(value, fields[name]) &&
            !(name in defaults && isDeepStrictEqual(value, defaults[name])),
        ),
      );
    },
    async store(writer, rules, scope, label, item, previous, id) {
      const input = labelling.inputOf(label, { ...defaultsFor(label), ...item });
      if (typeof input === 'object' && input !== null && isFailure(input)) return input;
      const errors = validate(inputSchema, input);
      if (errors.length > 0) return { ...fail('validation_failed', '', errors) };
      const stored = await storeRecord({
        resource,
        writer,
        rules,
        scope: scope as S,
        input,
        previous: previous as R | undefined,
        newId: id,
      });
      // A value from the item is already known.
      return isFailure(stored) || item['token'] === undefined ? stored : { ...stored, token: undefined };
    },
    remove: (writer, record) => resource.remove(writer, record as R),
    warnings: async (rules, scope, record, previous) =>
      (await resource.warnings?.(rules, scope as S, record as R, previous as R | undefined)) ?? [],
    removalWarnings: async (rules, scope, removed) =>
      (await resource.removalWarnings?.(rules, scope as S, removed as R)) ?? [],
  };
}

interface StoreWork<S extends object, I, R extends StoredRecord> {
  readonly resource: Resource<S, I, R>;
  readonly writer: ConfigWriter;
  readonly rules: RuleContext;
  readonly scope: S;
  readonly input: I;
  readonly previous: R | undefined;
  readonly newId: string | undefined;
}

async function storeRecord<S extends object, I, R extends StoredRecord>({
  resource,
  writer,
  rules,
  scope,
  input,
  previous,
  newId,
}: StoreWork<S, I, R>): Promise<Stored | Failure> {
  const nowMs = rules.clock.nowMs();
  const now = timestamp(nowMs);
  const base = previous ?? { id: newId ?? uuidv7(nowMs), created_at: now, updated_at: now };
  const { id, created_at, updated_at } = base;
  const built = await resource.build(input, { id, created_at, updated_at }, previous, scope, rules);
  if (isFailure(built)) return built;
  if (previous === undefined) {
    await resource.insert(writer, built.record);
    const token = built.shownOnce?.['token'];
    return { record: built.record, change: 'create', token: typeof token === 'string' ? token : undefined };
  }
  if (isDeepStrictEqual(built.record, previous))
    return { record: previous, change: undefined, token: undefined };
  const record: R = { ...built.record, updated_at: nextUpdatedAt(previous.updated_at, nowMs) };
  const refused = await resource.update?.(writer, record, previous, rules);
  return refused ?? { record, change: 'update', token: undefined };
}

/** Whether a field has its default. */
function isDefault(value: unknown, schema: JsonSchema | undefined): boolean {
  if (value === undefined || value === null) return true;
  if (schema?.default !== undefined) return isDeepStrictEqual(value, schema.default);
  // Collections begin empty.
  return (Array.isArray(value) && value.length === 0) || (isObject(value) && Object.keys(value).length === 0);
}

const ENDPOINT_LABEL = /^(GET|POST|PUT|PATCH|DELETE|\*) (\/.*)$/;

export const LEVELS: Readonly<Record<LevelName, Level>> = {
  app: level(apps, {
    name: 'app',
    collection: 'apps',
    description: 'Apps by slug.',
    below: ['versions', 'keys'],
    labelFields: ['slug'],
    labelOf: ({ slug }) => slug,
    defaultsOf: (slug) => ({ name: slug }),
    inputOf: (slug, item) => ({ ...item, slug }) as never,
  }),
  version: level(versions, {
    name: 'version',
    collection: 'versions',
    description: 'Versions by label.',
    below: ['revisions'],
    labelFields: ['version'],
    labelOf: ({ version }) => version,
    inputOf: (version, item) => ({ ...item, version }),
    writable: writableVersion,
  }),
  revision: level(revisions, {
    name: 'revision',
    collection: 'revisions',
    description: 'Revisions by label.',
    below: ['endpoints'],
    labelFields: ['revision'],
    labelOf: ({ revision }) => revision,
    defaultsOf: () => ({ backend_base_path: '/' }),
    inputOf: (revision, item) => ({ ...item, revision }),
    writable: writableRevision,
  }),
  endpoint: level(endpoints, {
    name: 'endpoint',
    collection: 'endpoints',
    description: 'Endpoints by method and path, such as `GET /invoices/{id}`.',
    below: [],
    labelFields: ['method', 'path'],
    labelOf: endpointLabel,
    inputOf(label, item) {
      const [, method, path] = ENDPOINT_LABEL.exec(label) ?? [];
      if (method === undefined || path === undefined) {
        return fail('validation_failed', '', [
          {
            pointer: '',
            detail: `must be named by method and path, such as "GET /invoices/{id}", not "${label}"`,
          },
        ]);
      }
      return { ...item, method, path } as never;
    },
  }),
  key: level(tokens, {
    name: 'key',
    collection: 'keys',
    description:
      'API keys by name. They contain values only as a reference or a hash. If an apply generates the value of a key, its answer shows the value once.',
    below: [],
    labelFields: [],
    labelOf: ({ name }: StoredApiKey) => name,
    defaultsOf: (name) => ({ name }),
    hiddenFields: jsonSchema(DeclaredKeyValueSchema).properties ?? {},
    inputOf: (_label, item) => item as never,
  }),
};

/** Includes `deprecated_at`, which the gateway sets when it is left out. */
function writableVersion(version: Version): Item {
  return { ...versions.writable(version), deprecated_at: version.deprecated_at };
}

/**
 * Only one form of the targets: the short form if there is exactly one plain target; with a file, the port is
 * included.
 */
function writableRevision(revision: Revision): Item {
  const { targets: _targets, discovery, ...single } = revisions.writable(revision);
  if (!revision.targets && !revision.discovery) return single;
  const { backend_host: _host, backend_port: port, ...rest } = single;
  if (!revision.discovery) return { ...rest, targets: revision.targets?.map(declaredTarget) };
  return { ...rest, ...(revision.discovery.type === 'file' && { backend_port: port }), discovery };
}

/** A target without defaults; the port of a Unix socket is a default. */
function declaredTarget({ port, weight, ...target }: Target): Item {
  return {
    ...target,
    ...(port !== PORT_DEFAULT && { port }),
    ...(weight !== TARGET_WEIGHT_DEFAULT && { weight }),
  };
}

export function endpointLabel({ method, path }: Pick<Endpoint, 'method' | 'path'>): string {
  return `${method} ${path}`;
}

/** A label that only this key ever has: its name with the end of its id. */
function ownLabel({ name, id }: StoredApiKey): string {
  return `${name} (${id.slice(-6)})`;
}

/** The labels of an app's keys in a dump: the name; with the end of the id if several keys share it. */
export function labelKeys(keys: readonly StoredApiKey[]): Map<string, StoredApiKey> {
  const counts = new Map<string, number>();
  for (const { name } of keys) counts.set(name, (counts.get(name) ?? 0) + 1);
  const labelled = new Map<string, StoredApiKey>();
  for (const key of keys) {
    // A member called `__proto__` cannot be declared.
    const isPlain = counts.get(key.name) === 1 && key.name !== '__proto__';
    labelled.set(isPlain ? key.name : ownLabel(key), key);
  }
  return labelled;
}

export interface MatchedKeys {
  /** By the label under which a key is declared. */
  readonly declared: ReadonlyMap<string, StoredApiKey>;
  readonly undeclared: readonly StoredApiKey[];
}

/**
 * Assigns declared keys to stored keys. A label that only one key can have comes first; then names decide, the
 * oldest key of a name first. So a key keeps its identity and value while others are added or removed.
 */
export function matchKeys(items: Item, keys: readonly StoredApiKey[]): MatchedKeys {
  const byOwnLabel = new Map(keys.map((key) => [ownLabel(key), key]));
  const declared = new Map<string, StoredApiKey>();
  const left = new Set(keys);
  const match = (label: string, key: StoredApiKey | undefined): void => {
    if (key === undefined || !left.delete(key)) return;
    declared.set(label, key);
  };
  const labels = Object.keys(items);
  for (const label of labels) match(label, byOwnLabel.get(label));
  const byName = new Map<string, StoredApiKey[]>();
  const newestFirst = [...left].sort((a, b) => compare(b.created_at, a.created_at) || compare(b.id, a.id));
  for (const key of newestFirst) {
    const same = byName.get(key.name);
    if (same === undefined) byName.set(key.name, [key]);
    else same.push(key);
  }
  for (const label of labels) {
    const { name } = (items[label] ?? {}) as Item;
    if (!declared.has(label)) match(label, byName.get(typeof name === 'string' ? name : label)?.pop());
  }
  return { declared, undeclared: [...left] };
}

/** The same when the id of a key follows from its label. */
export function matchKeysById(
  items: Item,
  keys: readonly StoredApiKey[],
  idOf: (label: string) => string,
): MatchedKeys {
  const left = new Map(keys.map((key) => [key.id, key]));
  const declared = new Map<string, StoredApiKey>();
  for (const label of Object.keys(items)) {
    const id = idOf(label);
    const key = left.get(id);
    if (key === undefined) continue;
    left.delete(id);
    declared.set(label, key);
  }
  return { declared, undeclared: [...left.values()] };
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
