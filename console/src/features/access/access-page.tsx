/** Who may manage the gateway: the reader, the browsers signed in, and admin tokens. */
import type { ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import type { CurrentSession } from '../../api/schema.ts';
import { actorLabel } from '../../page/actor-names.ts';
import { useMay } from '../../page/session.ts';
import { accessWords } from '../../text/access.ts';
import { KeyValues, row } from '../../ui/display/key-values.tsx';
import { Loaded } from '../../ui/display/notes.tsx';
import { Columns, PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { AdminTokens } from './admin-tokens.tsx';
import { Sessions } from './sessions.tsx';
import styles from './access.module.css';

export function AccessPage(): ReactNode {
  const isAdmin = useMay('admin');
  return (
    <>
      <PageHead title={accessWords.title} summary={accessWords.summary} />
      <Stack>
        <Columns>
          <You />
          <Ways />
        </Columns>
        {isAdmin ? (
          <AdminTokens />
        ) : (
          <Panel title={accessWords.tokens}>
            <p className={styles['soft']}>{accessWords.onlyAdmins}</p>
          </Panel>
        )}
        <Sessions />
      </Stack>
    </>
  );
}

function You(): ReactNode {
  const session = useRead('GET /session', {});
  return (
    <Panel title={accessWords.you}>
      <Loaded query={session}>{({ body }) => <Yourself session={body.data} />}</Loaded>
    </Panel>
  );
}

function Yourself({ session }: { readonly session: CurrentSession }): ReactNode {
  const { fields, roles, roleTexts } = accessWords;
  const { name: actor, role } = session.actor;
  const name = actorLabel(actor);
  return (
    <KeyValues
      rows={[
        row(fields.name, name),
        row(fields.role, `${roles[role]}: ${roleTexts[role]}`),
        ...timeRow(fields.since, session.created_at, 'ago'),
        ...timeRow(fields.idleEnd, session.idle_expires_at, 'either'),
        ...timeRow(fields.end, session.expires_at, 'either'),
      ]}
    />
  );
}

function timeRow(name: string, at: string | null, relative: 'ago' | 'either'): ReturnType<typeof row>[] {
  return at === null ? [] : [row(name, <Time at={at} relative={relative} />)];
}

function Ways(): ReactNode {
  const ways = useRead('GET /sign-in', {});
  return (
    <Panel title={accessWords.ways}>
      <Loaded query={ways}>
        {({ body: { data } }) => (
          <ul className={styles['ways']}>
            <li>{accessWords.wayToken}</li>
            <li>{data.oidc === null ? accessWords.noOidc : accessWords.wayOidc(data.oidc.name)}</li>
          </ul>
        )}
      </Loaded>
    </Panel>
  );
}
