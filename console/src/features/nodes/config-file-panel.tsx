/** The files that the configuration comes from, where it comes from files: whether they are what is served. */
import type { ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import type { ConfigFile, ConfigFileProblem } from '../../api/schema.ts';
import { useMay } from '../../page/session.ts';
import { nodesWords } from '../../text/operation.ts';
import { Badge } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { KeyValues } from '../../ui/display/key-values.tsx';
import { Panel, Stack } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { useGatewayHealth } from './gateway-health.ts';
import styles from './nodes.module.css';

const EVERY_MS = 5_000;
const { file } = nodesWords;

/** Names of files and what is wrong in them are for admins. */
export function ConfigFilePanel(): ReactNode {
  const state = useGatewayHealth().data?.health.config_file;
  const isAdmin = useMay('admin');
  const details = useRead(
    'GET /config/file',
    {},
    { enabled: isAdmin && state !== undefined, everyMs: EVERY_MS },
  );
  if (state === undefined) return null;
  const data = details.data?.body.data;
  return (
    <Panel title={file.title}>
      <Stack>
        <p className={styles['soft']}>{file.text}</p>
        <KeyValues
          rows={[[file.state, <FileState key="state" isServed={state === 'ok'} />], ...detailRows(data)]}
        />
        {data !== undefined && data.problems.length > 0 && <FileProblems data={data} />}
      </Stack>
    </Panel>
  );
}

function FileState({ isServed }: { readonly isServed: boolean }): ReactNode {
  return <Badge tone={isServed ? 'good' : 'bad'}>{isServed ? file.states.ok : file.states.refused}</Badge>;
}

function detailRows(data: ConfigFile | undefined): readonly (readonly [string, ReactNode])[] {
  if (data === undefined) return [];
  const { path, loaded_at: loaded, problem_since: since } = data;
  return [
    ...(path === null ? [] : [[file.path, <code key="path">{path}</code>] as const]),
    ...(loaded === null ? [] : [[file.loaded, <Time key="loaded" at={loaded} />] as const]),
    ...(since === null ? [] : [[file.since, <Time key="since" at={since} />] as const]),
  ];
}

const COLUMNS: readonly Column<ConfigFileProblem>[] = [
  {
    head: file.columns.place,
    isRowHead: true,
    cell: (problem) => (
      <code>
        {problem.file}:{problem.line}:{problem.column}
      </code>
    ),
  },
  {
    head: file.columns.pointer,
    cell: ({ pointer }) => (pointer === '' ? file.wholeFile : <code>{pointer}</code>),
  },
  { head: file.columns.detail, cell: ({ detail }) => detail },
];

function FileProblems({ data }: { readonly data: ConfigFile }): ReactNode {
  const caption = file.problems(data.problems.length, data.problem_count);
  return (
    <div>
      <h3>{caption}</h3>
      <DataTable
        caption={caption}
        columns={COLUMNS}
        rows={data.problems}
        keyOf={(problem) =>
          `${problem.file}:${problem.line}:${problem.column} ${problem.pointer} ${problem.detail}`
        }
      />
    </div>
  );
}
