/** The changes of an apply so far: the list for people, and what the workers must load. Owns both. */
import type { ChangeSet, TouchedEndpoint } from '../../model/config.ts';
import type { StoredRecord } from '../crud/resource.ts';
import { SINGLE_ENDPOINTS_MAX } from '../transaction/touched-together.ts';
import type { CascadedKey } from '../write/audit-names.ts';
import type { Item, LevelName } from './levels.ts';

export interface DeclaredChange {
  readonly change: 'create' | 'update' | 'delete';
  readonly type: LevelName;
  /** Labels from the app down. */
  readonly path: readonly string[];
  /** The item before and after, with secrets as stored; undefined when it does not exist. */
  readonly before: Item | undefined;
  readonly after: Item | undefined;
  readonly record: StoredRecord;
  /** Records below that are deleted with it. */
  readonly below: number;
  /** For a deleted app: its keys, which are deleted with it. */
  readonly keys?: readonly CascadedKey[];
}

/** A created key with its value, which is shown once. */
export interface CreatedKey {
  readonly app: string;
  readonly name: string;
  readonly id: string;
  readonly token: string;
}

/** The place of a record, by the ids of the records above it. */
export interface RecordPlace {
  readonly appId?: string;
  readonly versionId?: string;
  readonly revisionId?: string;
}

export class DeclaredChanges {
  readonly changes: DeclaredChange[] = [];
  readonly created: CreatedKey[] = [];
  /** The index in `changes` of each record's creation. */
  readonly #creations = new Map<string, number>();
  readonly #appIds = new Set<string>();
  readonly #versionIds = new Set<string>();
  readonly #endpoints = new Map<string, TouchedEndpoint[]>();
  readonly #keyIds = new Set<string>();

  add(change: DeclaredChange, place: RecordPlace): void {
    const created = this.#creations.get(change.record.id);
    if (created !== undefined) {
      // It was created in two steps.
      this.changes[created] = { ...change, change: 'create', before: undefined };
      return;
    }
    if (change.change === 'create') this.#creations.set(change.record.id, this.changes.length);
    this.changes.push(change);
    this.touch(change.type, change.record.id, place);
  }

  touchKeys(ids: readonly string[]): void {
    for (const id of ids) this.#keyIds.add(id);
  }

  get touched(): ChangeSet {
    const whole = new Set(this.#versionIds);
    const single: TouchedEndpoint[] = [];
    for (const [versionId, endpoints] of this.#endpoints) {
      if (!whole.has(versionId) && endpoints.length <= SINGLE_ENDPOINTS_MAX) single.push(...endpoints);
      whole.add(versionId);
    }
    return {
      appIds: [...this.#appIds],
      versionIds: [...whole],
      ...(single.length > 0 && { endpoints: single }),
      keyIds: [...this.#keyIds],
    };
  }

  /** For changes that follow from others and are not listed themselves. */
  touch(type: LevelName, id: string, { versionId, revisionId }: RecordPlace): void {
    switch (type) {
      case 'app':
        this.#appIds.add(id);
        break;
      case 'version':
        this.#versionIds.add(id);
        break;
      case 'revision':
        if (versionId !== undefined) this.#versionIds.add(versionId);
        break;
      case 'endpoint': {
        if (versionId === undefined || revisionId === undefined) break;
        const endpoints = this.#endpoints.get(versionId) ?? [];
        endpoints.push({ versionId, revisionId, endpointId: id });
        this.#endpoints.set(versionId, endpoints);
        break;
      }
      case 'key':
        this.#keyIds.add(id);
    }
  }
}
