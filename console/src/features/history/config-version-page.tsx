/** One version of the configuration: its author, its changes, and the rollback to it. */
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import type { ConfigVersionEnvelope } from '../../api/schema.ts';
import { useActorNames } from '../../page/actor-names.ts';
import { useSearchText } from '../../page/search-text.ts';
import { useMay } from '../../page/session.ts';
import { historyWords } from '../../text/history.ts';
import { Button, ButtonLink } from '../../ui/controls/button.tsx';
import { Badge } from '../../ui/display/badge.tsx';
import { KeyValues, row } from '../../ui/display/key-values.tsx';
import { ErrorNote, Loaded, Note } from '../../ui/display/notes.tsx';
import { PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { ChangeList, shownRecord } from './change-list.tsx';
import { RollBack, useRollBackPlan } from './roll-back.tsx';
import { actionSentence, SourceBadge } from './versions.tsx';
import styles from './history.module.css';

/** The most that the API gives at once. */
const CHANGES_MAX = 500;

export function ConfigVersionPage(): ReactNode {
  const { version: text = '' } = useParams({ strict: false });
  const [open, setOpen] = useSearchText('open');
  const mayEdit = useMay('editor');
  const version = useRead('GET /config/versions/{config_version}', {
    path: { config_version: text },
    query: { limit: CHANGES_MAX },
  });
  const newest = useRead('GET /config/versions', { query: { limit: 1 } });
  const latest = newest.data?.body.data[0];
  const inForce = latest?.config_version;
  const number = Number(text);
  const isOld = inForce !== undefined && number < inForce;
  // Asked only where it is likely: it reads the configuration of both versions.
  const mayBeBack = isOld && mayEdit && latest?.action === 'config.rollback';
  const back = useRollBackPlan(number, {}, mayBeBack);
  const isBack = mayBeBack && back.data?.body.data.changes.length === 0;
  return (
    <>
      <PageHead
        title={historyWords.versionTitle(number)}
        trail={<Link to="/history">{historyWords.title}</Link>}
        summary={
          number === inForce ? (
            <Badge tone="good">{historyWords.inForce}</Badge>
          ) : (
            isBack && <Badge tone="good">{historyWords.isBack(inForce)}</Badge>
          )
        }
        actions={
          <>
            <Neighbour
              to={number - 1}
              label={historyWords.older}
              isThere={number > 1 && (inForce === undefined || number <= inForce)}
            />
            <Neighbour to={number + 1} label={historyWords.newer} isThere={isOld} />
            {isOld && (
              <ButtonLink to="/history" search={{ compare: `${number}-${inForce}` }}>
                {historyWords.compareNow}
              </ButtonLink>
            )}
            {number === inForce && number > 0 && mayEdit && (
              <Button onClick={() => setOpen('undo')}>{historyWords.undo}</Button>
            )}
            {isOld && mayEdit && !(mayBeBack && back.isPending) && !isBack && (
              <Button look="main" onClick={() => setOpen('rollback')}>
                {historyWords.rollBack}
              </Button>
            )}
          </>
        }
      />
      {version.error !== null && version.data === undefined ? (
        <ErrorNote error={version.error} />
      ) : (
        <Loaded query={version}>{({ body }) => <Shown envelope={body} />}</Loaded>
      )}
      {mayEdit && open === 'rollback' && <RollBack version={number} onClose={() => setOpen('')} />}
      {mayEdit && open === 'undo' && number === inForce && (
        <RollBack version={number - 1} onClose={() => setOpen('')} />
      )}
    </>
  );
}

interface NeighbourProps {
  readonly to: number;
  readonly label: string;
  readonly isThere: boolean;
}

function Neighbour({ to, label, isThere }: NeighbourProps): ReactNode {
  if (!isThere) return null;
  return (
    <ButtonLink to="/history/$version" params={{ version: String(to) }}>
      {label}
    </ButtonLink>
  );
}

function Shown({ envelope }: { readonly envelope: ConfigVersionEnvelope }): ReactNode {
  const { data, page } = envelope;
  const { fields } = historyWords;
  const name = useActorNames().nameOf(data.actor);
  return (
    <Stack>
      <Panel>
        <KeyValues
          rows={[
            row(fields.at, <Time at={data.at} />),
            row(fields.actor, name ?? data.actor),
            ...(name === undefined ? [] : [row(fields.actorId, <code>{data.actor}</code>)]),
            ...(data.address === null ? [] : [row(fields.address, <code>{data.address}</code>)]),
            row(fields.source, <SourceBadge source={data.source} />),
            row(fields.what, actionSentence(data)),
            row(fields.action, <code>{data.action}</code>),
            ...(data.message === null ? [] : [row(fields.message, data.message)]),
            ...(data.commit === null ? [] : [row(fields.commit, <code>{data.commit}</code>)]),
            ...(data.request_id === null ? [] : [row(fields.request, <code>{data.request_id}</code>)]),
          ]}
        />
      </Panel>
      <Panel title={historyWords.recordsChanged}>
        {!data.is_complete && <Note tone="warn">{historyWords.notComplete}</Note>}
        {data.is_complete && data.changes.length === 0 && (
          <p className={styles['soft']}>{historyWords.noRecords}</p>
        )}
        {page.total > data.changes.length && (
          <p className={styles['soft']}>{historyWords.firstOnly(data.changes.length, page.total)}</p>
        )}
        <ChangeList changes={data.changes.map(shownRecord)} />
      </Panel>
    </Stack>
  );
}
