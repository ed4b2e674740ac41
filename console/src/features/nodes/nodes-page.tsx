/**
 * The running gateways, how far each follows the configuration, and the configuration files where there are any; of the
 * gateway that answers also its certificates and profiles.
 */
import type { ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import type { Node } from '../../api/schema.ts';
import { useMay } from '../../page/session.ts';
import { nodesWords } from '../../text/operation.ts';
import { Badge } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { Loaded, Note } from '../../ui/display/notes.tsx';
import { PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { formatNumber, Time } from '../../ui/display/time.tsx';
import { ProblemList, useProblems } from '../overview/problem-list.tsx';
import { CertificatesPanel } from './certificates-panel.tsx';
import { ConfigFilePanel } from './config-file-panel.tsx';
import { ProfilePanel } from './profile-panel.tsx';
import styles from './nodes.module.css';

const EVERY_MS = 3_000;
const { columns } = nodesWords;

export function NodesPage(): ReactNode {
  const nodes = useRead('GET /nodes', {}, { everyMs: EVERY_MS });
  const isAdmin = useMay('admin');
  return (
    <>
      <PageHead
        title={nodesWords.title}
        summary={nodes.data && nodesWords.summary(nodes.data.body.data.config_version)}
      />
      <Loaded query={nodes}>
        {({ body: { data } }) => (
          <Stack>
            <Vanished />
            <ConfigFilePanel />
            <Panel title={nodesWords.table} isFlush>
              <DataTable
                caption={nodesWords.table}
                columns={columnsOf(data.config_version)}
                rows={data.nodes}
                keyOf={({ id }) => id}
              />
            </Panel>
            {data.nodes.length === 1 && <Note>{nodesWords.alone}</Note>}
            <CertificatesPanel />
            {isAdmin && <ProfilePanel />}
          </Stack>
        )}
      </Loaded>
    </>
  );
}

/** A gateway that has died is among the running ones no more. */
function Vanished(): ReactNode {
  const problems = useProblems().data?.body.data.filter(({ link }) => link.kind === 'nodes') ?? [];
  return problems.length === 0 ? null : <ProblemList problems={problems} />;
}

function columnsOf(configVersion: number): readonly Column<Node>[] {
  return [
    { head: columns.name, isRowHead: true, cell: (node) => <NodeName node={node} /> },
    {
      head: columns.state,
      cell: ({ state }) => (
        <Badge tone={state === 'live' ? 'good' : 'warn'}>{nodesWords.states[state]}</Badge>
      ),
    },
    {
      head: columns.applied,
      isNumber: true,
      cell: ({ config_version: applied }) => (
        <>
          {formatNumber(applied)}
          {applied < configVersion && (
            <div className={styles['soft']}>{nodesWords.behind(configVersion - applied)}</div>
          )}
        </>
      ),
    },
    { head: columns.version, cell: ({ version }) => version },
    { head: columns.started, cell: (node) => <Time at={node.started_at} /> },
    { head: columns.seen, cell: (node) => <Time at={node.last_seen_at} relative="ago" /> },
  ];
}

function NodeName({ node }: { readonly node: Node }): ReactNode {
  return (
    <span className={styles['name']}>
      {node.name}
      {node.is_self && <Badge tone="accent">{nodesWords.self}</Badge>}
    </span>
  );
}
