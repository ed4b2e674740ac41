/** The audit log: every write and every refused sign-in, found by who, what and when. */
import { useId, type ReactNode } from 'react';
import { useActorNames } from '../../page/actor-names.ts';
import { useSearchText } from '../../page/search-text.ts';
import { useMay } from '../../page/session.ts';
import { KNOWN_ACTIONS } from '../../text/actions.ts';
import { auditWords } from '../../text/audit.ts';
import { ButtonLink } from '../../ui/controls/button.tsx';
import { EmptyState } from '../../ui/display/notes.tsx';
import { PageHead, Panel } from '../../ui/display/panel.tsx';
import { SelectField, TextField } from '../../ui/controls/field.tsx';
import { Entries } from './entries.tsx';
import { useAuditQuery } from './audit-query.ts';
import styles from './audit.module.css';

const TYPES = ['', ...Object.keys(auditWords.types)].map((value) => ({
  value,
  label: value === '' ? auditWords.anyType : auditWords.types[value as keyof typeof auditWords.types],
}));

export function AuditPage(): ReactNode {
  const isAdmin = useMay('admin');
  return (
    <>
      <PageHead title={auditWords.title} summary={auditWords.summary} />
      {isAdmin ? (
        <Log />
      ) : (
        <Panel isFlush>
          <EmptyState
            title={auditWords.title}
            actions={<ButtonLink to="/history">{auditWords.toHistory}</ButtonLink>}
          >
            {auditWords.onlyAdmins}
          </EmptyState>
        </Panel>
      )}
    </>
  );
}

function Log(): ReactNode {
  const query = useAuditQuery();
  return (
    <div className={styles['stack']}>
      <Filters />
      <Entries query={query} />
    </div>
  );
}

function Filters(): ReactNode {
  const [actor, setActor] = useSearchText('actor');
  const [action, setAction] = useSearchText('action');
  const [type, setType] = useSearchText('type');
  const [name, setName] = useSearchText('name');
  const [since, setSince] = useSearchText('since');
  const [until, setUntil] = useSearchText('until');
  const names = useActorNames();
  const listId = useId();
  const { filters } = auditWords;
  return (
    <div className={styles['filters']}>
      <TextField
        label={filters.actor}
        hint={auditWords.actorHint}
        value={actor}
        onValue={setActor}
        maxLength={512}
        list={listId}
      />
      <TextField
        label={filters.action}
        hint={auditWords.actionHint}
        value={action}
        onValue={setAction}
        maxLength={512}
        list={`${listId}-actions`}
      />
      <SelectField label={filters.type} value={type} choices={TYPES} onValue={setType} />
      <TextField label={filters.name} value={name} onValue={setName} maxLength={512} />
      <TextField label={filters.since} type="datetime-local" value={since} onValue={setSince} />
      <TextField label={filters.until} type="datetime-local" value={until} onValue={setUntil} />
      <datalist id={`${listId}-actions`}>
        {KNOWN_ACTIONS.map((known) => (
          <option key={known} value={known}>
            {known}
          </option>
        ))}
      </datalist>
      <datalist id={listId}>
        {names.known.map(({ id, name: known }) => (
          <option key={id} value={id}>
            {known}
          </option>
        ))}
      </datalist>
    </div>
  );
}
