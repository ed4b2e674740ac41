/**
 * The description of one kind of resource, from which crud.ts creates its operations. A description says where the
 * resource is found, how it is read and stored, and which rules turn an input into a record; it does not deal with
 * HTTP.
 */
import type { ChangeSet } from '../../model/config.ts';
import type { Warning } from '../../model/warnings.ts';
import type { JsonSchema } from '../../model/json-schema.ts';
import type { ConfigReader, ConfigWriter, Page, PageRequest } from '../../storage/repository.ts';
import type { FilteredTable } from '../../storage/list-filter.ts';
import type { RuleContext } from '../write/rule-context.ts';
import type { Failure } from '../api/failure.ts';

export interface StoredRecord {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
}

/** The fields of a record that every resource has; made by crud.ts. */
export type RecordBase = StoredRecord;

export interface Built<R> {
  readonly record: R;
  /** Fields shown only in the answer to the creation, such as the token value. */
  readonly shownOnce?: Readonly<Record<string, unknown>>;
}

/**
 * `S` is the scope: the parents that the path names. `I` is the input, after its schema has been checked. `R` is the
 * stored record.
 */
export interface Resource<S extends object, I, R extends StoredRecord> {
  /** For audit entries and error texts, e.g. `app`. */
  readonly type: string;
  /** Singular and plural for messages, e.g. `App`, `Apps`. */
  readonly names: readonly [string, string];
  /** For operation ids, e.g. `App`, `Apps`. */
  readonly operationNames: readonly [string, string];
  readonly tag: string;
  /** Path of the collection below the API prefix, e.g. `/apps/{app_id}/versions`. */
  readonly collection: string;
  /** The name of the item's path parameter. */
  readonly parameter: string;
  /** How its list can be filtered; absent when it cannot. */
  readonly filteredAs?: FilteredTable;
  /** Whether its writes accept `dry_run`, because requests depend on it. */
  readonly dryRun: boolean;
  readonly access: { readonly read: 'viewer' | 'admin'; readonly write: 'editor' | 'admin' };
  readonly inputSchema: JsonSchema;
  readonly schema: JsonSchema;
  /** The body of the creation, if it accepts more than `inputSchema`. */
  readonly creationSchema?: JsonSchema;
  /** Fields of a creation that only the role `admin` may set. */
  readonly adminFields?: readonly string[];
  /** The answer to the creation, if it shows more than `schema`. */
  readonly createdSchema?: JsonSchema;
  readonly example: { readonly input: unknown; readonly patch?: unknown };

  scope(reader: ConfigReader, params: Readonly<Record<string, string>>): Promise<S | Failure>;
  list(reader: ConfigReader, scope: S, page: PageRequest): Promise<Page<R>>;
  find(reader: ConfigReader, scope: S, reference: string): Promise<R | undefined>;
  /**
   * Applies defaults and the rules that a schema cannot express, including uniqueness.
   * @param base id and times of the new record
   * @param previous the record before a PATCH or PUT; undefined for a creation
   */
  build(
    input: I,
    base: RecordBase,
    previous: R | undefined,
    scope: S,
    rules: RuleContext,
  ): Promise<Built<R> | Failure>;
  insert(writer: ConfigWriter, record: R): Promise<void>;
  /** Further effects of a creation, for fields that only `creationSchema` has. */
  readonly complete?: (
    writer: ConfigWriter,
    scope: S,
    body: Readonly<Record<string, unknown>>,
    record: R,
    rules: RuleContext,
  ) => Promise<Failure | undefined>;
  /** Absent when the resource cannot be changed. Stores the record and what follows from its change. */
  readonly update?: (
    writer: ConfigWriter,
    record: R,
    previous: R,
    rules: RuleContext,
  ) => Promise<Failure | undefined>;
  remove(writer: ConfigWriter, record: R): Promise<boolean>;
  /** Children that prevent a deletion, such as `2 versions`; empty when there are none. */
  readonly children?: (writer: ConfigWriter, record: R) => Promise<readonly string[]>;
  /** What an audit entry says about records that are deleted with this one; called before the deletion. */
  readonly removedWith?: (writer: ConfigWriter, record: R) => Promise<Readonly<Record<string, unknown>>>;
  /** A refusal to delete for other reasons than children. */
  readonly keep?: (rules: RuleContext, record: R) => Promise<Failure | undefined>;
  /** The input that would create the record: a PATCH is applied to it. Absent fields have their default. */
  writable(record: R): Readonly<Record<string, unknown>>;
  /** The part of `writable` to which a merge patch is applied, if some fields replace others; absent: all of it. */
  readonly patchBase?: (
    writable: Readonly<Record<string, unknown>>,
    sent: unknown,
  ) => Readonly<Record<string, unknown>>;
  /** The served form of a record, without secrets. */
  present(record: R): Readonly<Record<string, unknown>>;
  /** The same for roles that may not write it and for audit entries, where one of its fields may contain a secret. */
  readonly presentMasked?: (record: R) => Readonly<Record<string, unknown>>;
  /** The name that people use: slug, label, method and path, or name. */
  nameOf(record: R): string;
  /** Where `find` looks for a name, such as `in app "shop"`; absent when it finds records only by their ids. */
  readonly placeOfNames?: (scope: S) => string;
  /**
   * Warnings about a written record; runs inside the transaction. `sent` has the fields that the call gave, as opposed
   * to defaults; undefined for records that a whole configuration has declared.
   */
  readonly warnings?: (
    rules: RuleContext,
    scope: S,
    record: R,
    previous: R | undefined,
    sent?: Readonly<Record<string, unknown>>,
  ) => Promise<readonly Warning[]>;
  /** The same for the state that a deletion leaves. */
  readonly removalWarnings?: (rules: RuleContext, scope: S, removed: R) => Promise<readonly Warning[]>;
  /** What the workers must load after a write. */
  touched(scope: S, record: R): ChangeSet;
  /** The same for a deletion that removes more than `touched` says; called before it. */
  readonly touchedByRemoval?: (writer: ConfigWriter, scope: S, record: R) => Promise<ChangeSet>;
}
