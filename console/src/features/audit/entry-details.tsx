/**
 * One entry of the audit log. The log has the new values; the history has the former ones, as long as it keeps the
 * version.
 */
import type { ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import type { AuditEntry } from '../../api/schema.ts';
import type { ActorNames } from '../../page/actor-names.ts';
import { stringifySearch } from '../../page/search-text.ts';
import { auditWords } from '../../text/audit.ts';
import { CopyButton } from '../../ui/controls/copy-button.tsx';
import { localTime } from '../../ui/controls/local-time.ts';
import { KeyValues, row } from '../../ui/display/key-values.tsx';
import { Loading, Note } from '../../ui/display/notes.tsx';
import { Time } from '../../ui/display/time.tsx';
import { Dialog } from '../../ui/overlay/dialog.tsx';
import { ChangeList, shownRecord } from '../history/change-list.tsx';
import { actionSentence, recordOf, VersionLink } from './entry-parts.tsx';
import styles from './audit.module.css';

interface EntryDetailsProps {
  readonly entry: AuditEntry;
  readonly names: ActorNames;
  readonly onClose: () => void;
}

/** Kinds of records that the history of the configuration has. */
const IN_HISTORY: ReadonlySet<string> = new Set(['app', 'version', 'revision', 'endpoint', 'token']);
const CHANGES_MAX = 500;

export function EntryDetails({ entry, names, onClose }: EntryDetailsProps): ReactNode {
  const { fields } = auditWords;
  const record = recordOf(entry);
  const name = names.nameOf(entry.actor);
  return (
    <Dialog isOpen isWide onClose={onClose} title={actionSentence(entry)}>
      <KeyValues
        rows={[
          row(fields.at, <Time at={entry.at} />),
          row(fields.action, <code>{entry.action}</code>),
          row(fields.actor, name ?? entry.actor),
          ...(name === undefined ? [] : [row(fields.actorId, <code>{entry.actor}</code>)]),
          ...(entry.address === null ? [] : [row(fields.address, <code>{entry.address}</code>)]),
          ...(record === '' ? [] : [row(fields.record, `${entry.resource_type} ${record}`)]),
          row(fields.recordId, <code>{entry.resource_id}</code>),
          row(fields.version, <VersionLink of={entry} />),
          ...(entry.request_id === null ? [] : [row(fields.request, <code>{entry.request_id}</code>)]),
        ]}
      />
      <div>
        <CopyButton text={linkTo(entry)} label={auditWords.copyLink} />
      </div>
      {IN_HISTORY.has(entry.resource_type) ? <Before entry={entry} /> : <Written entry={entry} />}
    </Dialog>
  );
}

/** With the time of the entry as a filter, so that it is found among any number of entries. */
function linkTo({ id, at }: AuditEntry): string {
  const since = new Date(at);
  const until = new Date(since.getTime() + 1);
  const search = stringifySearch({ open: id, since: localTime(since), until: localTime(until) });
  return `${window.location.origin}/audit${search}`;
}

function Before({ entry }: { readonly entry: AuditEntry }): ReactNode {
  const version = useRead('GET /config/versions/{config_version}', {
    path: { config_version: String(entry.config_version) },
    query: { limit: CHANGES_MAX },
  });
  if (version.isPending) return <Loading />;
  const changes = version.data?.body.data.changes.filter(({ id }) => id === entry.resource_id) ?? [];
  if (changes.length === 0) {
    return (
      <>
        {version.isError && <Note tone="neutral">{auditWords.notKept}</Note>}
        <Written entry={entry} />
      </>
    );
  }
  return (
    <section>
      <h3>{auditWords.change}</h3>
      <ChangeList changes={changes.map(shownRecord)} />
    </section>
  );
}

function Written({ entry: { change } }: { readonly entry: AuditEntry }): ReactNode {
  if (change === null || Object.keys(change).length === 0) {
    return <p className={styles['soft']}>{auditWords.noChange}</p>;
  }
  return (
    <section className={styles['written']}>
      <h3>{auditWords.written}</h3>
      <pre tabIndex={0}>{JSON.stringify(change, null, 2)}</pre>
    </section>
  );
}
