/** The browsers that are signed in: admins see all, others their own. Each can be signed out. */
import { useState, type ReactNode } from 'react';
import { usePages } from '../../api/queries.ts';
import type { Session } from '../../api/schema.ts';
import { actorLabel } from '../../page/actor-names.ts';
import { accessWords } from '../../text/access.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Badge } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { Loaded } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { ConfirmedWrite } from '../save/confirmed-write.tsx';
import { browserOf } from './browser-name.ts';
import styles from './access.module.css';

const REFRESH_MS = 15_000;

export function Sessions(): ReactNode {
  const sessions = usePages('GET /sessions', { query: { limit: 50 } }, { everyMs: REFRESH_MS });
  const [ending, setEnding] = useState<Session>();
  return (
    <Panel title={accessWords.sessions} isFlush>
      <p className={styles['text']}>{accessWords.sessionsText}</p>
      <Loaded query={sessions}>
        {({ items, total }) => (
          <DataTable
            caption={accessWords.sessionsList}
            rows={items}
            keyOf={(session) => session.id}
            columns={columnsOf(setEnding)}
            empty={<p className={styles['text']}>{accessWords.noSessions}</p>}
            more={{ total, pages: sessions }}
          />
        )}
      </Loaded>
      {ending !== undefined && <EndSession session={ending} onClose={() => setEnding(undefined)} />}
    </Panel>
  );
}

function EndSession({
  session: { id, actor, address },
  onClose,
}: {
  readonly session: Session;
  readonly onClose: () => void;
}): ReactNode {
  const name = actorLabel(actor.name);
  return (
    <ConfirmedWrite
      operation="DELETE /sessions/{session_id}"
      options={{ path: { session_id: id } }}
      title={accessWords.endTitle(name)}
      action={accessWords.end}
      done={accessWords.ended(name)}
      onClose={onClose}
    >
      {accessWords.endText(address)}
    </ConfirmedWrite>
  );
}

function columnsOf(onEnd: (session: Session) => void): readonly Column<Session>[] {
  const { columns } = accessWords;
  return [
    {
      head: columns.who,
      isRowHead: true,
      cell: ({ actor, current }) => (
        <>
          {actorLabel(actor.name)} {current && <Badge tone="accent">{accessWords.thisBrowser}</Badge>}
        </>
      ),
    },
    { head: columns.role, cell: ({ actor }) => actor.role ?? accessWords.noRole },
    { head: columns.address, cell: ({ address }) => <code>{address}</code> },
    {
      head: columns.browser,
      cell: ({ user_agent: agent }) => (
        <span title={agent ?? undefined}>
          {agent === null ? accessWords.unknownBrowser : browserOf(agent)}
        </span>
      ),
    },
    { head: columns.since, cell: (session) => <Time at={session.created_at} relative="ago" /> },
    { head: columns.lastUsed, cell: (session) => <Time at={session.last_used_at} relative="ago" /> },
    { head: columns.ends, cell: (session) => <Time at={session.expires_at} relative="either" /> },
    {
      head: columns.actions,
      cell: (session) =>
        // The way out for this browser is in the menu of the account.
        !session.current && (
          <Button
            isSmall
            aria-label={accessWords.endOf(actorLabel(session.actor.name))}
            onClick={() => onEnd(session)}
          >
            {accessWords.end}
          </Button>
        ),
    },
  ];
}
