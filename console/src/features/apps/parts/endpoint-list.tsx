/** The endpoints of a revision: searched by the API, read page by page, and only those in sight in the page. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useDeferredValue, useRef, type ReactNode } from 'react';
import { useRead } from '../../../api/queries.ts';
import type { Endpoint } from '../../../api/schema.ts';
import { useSearchText } from '../../../page/search-text.ts';
import { appsWords } from '../../../text/apps.ts';
import { Button } from '../../../ui/controls/button.tsx';
import { TextField } from '../../../ui/controls/field.tsx';
import { Badge } from '../../../ui/display/badge.tsx';
import { EmptyState, ErrorNote } from '../../../ui/display/notes.tsx';
import { Panel } from '../../../ui/display/panel.tsx';
import type { ResourcePath } from '../resource-path.ts';
import type { PagedList } from '../tree/paged-list.ts';
import { useEndpoints } from '../tree/use-endpoints.ts';
import styles from './endpoint-list.module.css';
import { useRecordView } from './record-view.ts';
import { ResourceLink } from './resource-link.tsx';

const ROW_PX = 36;
const AHEAD = 100;

export function EndpointList({ path }: { readonly path: ResourcePath }): ReactNode {
  const [text, setText] = useSearchText('q');
  const { mayEdit, setMaking } = useRecordView();
  const list = useEndpoints(path, useDeferredValue(text.trim()));
  const isNothing = list.isComplete && list.total === 0;
  return (
    <Panel
      title={list.isComplete || list.total > 0 ? appsWords.endpointCount(list.total) : appsWords.endpointsOf}
      actions={
        mayEdit && (
          <Button isSmall onClick={() => setMaking('endpoint')}>
            {appsWords.createEndpoint}
          </Button>
        )
      }
      isFlush
    >
      <div className={styles['search']}>
        <TextField
          label={appsWords.searchEndpoints}
          type="search"
          value={text}
          onValue={setText}
          maxLength={200}
        />
      </div>
      {list.error !== undefined && <ErrorNote error={list.error} onRetry={() => list.retry()} />}
      {isNothing ? <Nothing path={path} isSearch={text !== ''} /> : <EndpointRows path={path} list={list} />}
    </Panel>
  );
}

function Nothing({ path, isSearch }: { readonly path: ResourcePath; readonly isSearch: boolean }): ReactNode {
  const app = useRead('GET /apps/{app_id}', { path: { app_id: path.app } });
  const isManaged = app.data?.body.data.routing_mode === 'managed_endpoint';
  if (isSearch) return <EmptyState title={appsWords.noEndpointsTitle}>{appsWords.nothingMatches}</EmptyState>;
  return (
    <EmptyState title={appsWords.noEndpointsTitle}>
      {isManaged ? appsWords.noEndpointsManaged : appsWords.noEndpoints}
    </EmptyState>
  );
}

interface EndpointRowsProps {
  readonly path: ResourcePath;
  readonly list: PagedList<Endpoint>;
}

function EndpointRows({ path, list }: EndpointRowsProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- nothing here is memoized by a compiler
  const virtual = useVirtualizer({
    count: list.total,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  const items = virtual.getVirtualItems();
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0];
  useEffect(() => list.ensure(last + AHEAD, first - AHEAD), [list, first, last]);
  return (
    <div
      ref={scroller}
      className={styles['scroller']}
      role="region"
      tabIndex={0}
      aria-label={appsWords.endpointsOf}
    >
      <ul className={styles['canvas']} style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, start }) => (
          <li
            key={index}
            className={styles['row']}
            style={{ transform: `translateY(${start}px)` }}
            aria-setsize={list.total}
            aria-posinset={index + 1}
          >
            <EndpointRow path={path} endpoint={list.at(index)} />
          </li>
        ))}
      </ul>
    </div>
  );
}

interface EndpointRowProps {
  readonly path: ResourcePath;
  /** Undefined before it is read. */
  readonly endpoint: Endpoint | undefined;
}

function EndpointRow({ path, endpoint }: EndpointRowProps): ReactNode {
  if (endpoint === undefined) return <span className={styles['soft']}>{appsWords.treeReading}</span>;
  return (
    <>
      <span className={styles['name']}>
        <ResourceLink path={{ ...path, endpoint: endpoint.id }}>
          {endpoint.method} {endpoint.path}
        </ResourceLink>
      </span>
      <span className={styles['soft']}>{endpoint.backend_path ?? ''}</span>
      {!endpoint.is_active && <Badge tone="warn">{appsWords.disabled}</Badge>}
      {endpoint.policy_override !== null && <Badge tone="info">{appsWords.hasPolicy}</Badge>}
    </>
  );
}
