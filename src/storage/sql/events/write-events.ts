/**
 * The events of one write of the configuration, derived from its changes and stored in its own transaction: a write
 * on disk has its events. Pure.
 */
import type { EventData, EventSubject } from '../../../model/events/events.ts';
import type { WriteDescription } from '../../../model/history/config-history.ts';
import type { AuditEntry } from '../../../model/resources.ts';
import type { NewEvent } from '../../event-store.ts';
import type { Captured, CapturedRecord } from '../history/capture.ts';

export interface DescribedWrite {
  readonly description: WriteDescription;
  /** The write's own description; the last entry is about the whole write. */
  readonly audit: readonly Pick<AuditEntry, 'resource_type' | 'resource_id' | 'resource_name'>[];
  readonly captured: Captured;
  readonly configVersion: number;
  /** RFC 3339, UTC. */
  readonly at: string;
  readonly node: string | null;
}

/** The action of a write that restores an earlier version of the configuration. */
const ROLLBACK = 'config.rollback';
const RECORDS_SHOWN_MAX = 20;
const NAME_CHARS_MAX = 1_000;
/** Events of revisions that one write makes; `config.changed` says how many records changed. */
const REVISION_EVENTS_MAX = 100;

export function eventsOfWrite(write: DescribedWrite): NewEvent[] {
  return [configChanged(write), ...revisionEvents(write)];
}

function configChanged(write: DescribedWrite): NewEvent {
  const { description, captured, configVersion, at, node } = write;
  const { records, changedRecords } = captured;
  const apps = new Set(records.map(({ app_id }) => app_id));
  const [appId] = apps.size === 1 ? apps : [];
  const data: EventData<'config.changed'> = {
    config_version: configVersion,
    action: description.action,
    actor: description.actor,
    ...(description.actor_name !== undefined && {
      actor_name: description.actor_name.slice(0, NAME_CHARS_MAX),
    }),
    source: description.source,
    git_commit: description.git_commit,
    message: description.message,
    changed_records: changedRecords,
    records: records.slice(0, RECORDS_SHOWN_MAX).map(({ type, id, name, before, after }) => ({
      type,
      id,
      name: name.slice(0, NAME_CHARS_MAX),
      change: before === null ? 'created' : after === null ? 'deleted' : 'updated',
    })),
  };
  return {
    type: 'config.changed',
    at,
    node,
    ...(appId !== undefined && { app_id: appId }),
    subject: subjectOf(write),
    data,
  };
}

function subjectOf({ captured: { records }, audit, configVersion }: DescribedWrite): EventSubject {
  const [only] = records;
  if (only !== undefined && records.length === 1) return { kind: only.type, id: only.id, name: only.name };
  const main = audit.at(-1);
  const version = String(configVersion);
  if (main === undefined) return { kind: 'config', id: version, name: version };
  return {
    kind: main.resource_type,
    id: main.resource_id ?? version,
    name: main.resource_name ?? main.resource_id ?? version,
  };
}

interface RevisionRow {
  readonly id: string;
  readonly version_id: string;
  readonly revision: string;
  readonly is_current: number;
}

interface Move {
  readonly record: CapturedRecord;
  readonly row: RevisionRow;
  readonly isOn: boolean;
}

/** Which revisions became current; revisions of the same version that ceased to be current indicate a rollback. */
function revisionEvents(write: DescribedWrite): NewEvent[] {
  const { captured, configVersion, at, node, description } = write;
  const moves = captured.records.flatMap(moveOf);
  return moves
    .filter(({ isOn }) => isOn)
    .slice(0, REVISION_EVENTS_MAX)
    .map(({ record, row }): NewEvent => {
      const left = moves.filter((other) => !other.isOn && other.row.version_id === row.version_id);
      // Ids sort by creation.
      const isBack = description.action === ROLLBACK || left.some((other) => other.row.id > row.id);
      const { app = '', version = '' } = JSON.parse(record.parents) as Record<string, string>;
      const names = { app, version, revision: row.revision, config_version: configVersion };
      const replaced = left.slice(0, RECORDS_SHOWN_MAX).map((other) => other.row.revision);
      return {
        ...(isBack
          ? { type: 'revision.rolled_back', data: { ...names, replaced } }
          : { type: 'revision.activated', data: names }),
        at,
        node,
        app_id: record.app_id,
        subject: { kind: 'revision', id: row.id, name: row.revision },
      };
    });
}

function moveOf(record: CapturedRecord): Move[] {
  if (record.type !== 'revision') return [];
  const [before, after] = [record.before, record.after].map((text) =>
    text === null ? undefined : (JSON.parse(text) as RevisionRow),
  );
  const row = after ?? before;
  const was = before?.is_current === 1;
  const is = after?.is_current === 1;
  return row === undefined || was === is ? [] : [{ record, row, isOn: is }];
}
