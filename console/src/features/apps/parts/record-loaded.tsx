/** A record's page while the record is read, or cannot be: it has a title and its way down from the apps then too. */
import type { ReactNode } from 'react';
import { Loaded } from '../../../ui/display/notes.tsx';
import { PageHead } from '../../../ui/display/panel.tsx';
import type { ResourcePath } from '../resource-path.ts';
import { Trail } from './resource-link.tsx';

interface RecordLoadedProps<Data> {
  readonly path: ResourcePath;
  readonly query: {
    readonly data: Data | undefined;
    readonly error: Error | null;
    readonly refetch: () => unknown;
  };
  readonly children: (data: Data) => ReactNode;
}

export function RecordLoaded<Data>({ path, query, children }: RecordLoadedProps<Data>): ReactNode {
  const { app, version, revision, endpoint } = path;
  const title = [app, version, revision, endpoint].filter(Boolean).join(' ');
  return (
    <>
      {query.data === undefined && <PageHead title={title} trail={<Trail path={path} />} />}
      <Loaded query={query}>{children}</Loaded>
    </>
  );
}
