/** One row of the tree: its name, its path or backend, and its state. */
import type { ReactNode } from 'react';
import type { StatsRow, TreeRevision, TreeVersion } from '../../../api/schema.ts';
import { appsWords } from '../../../text/apps.ts';
import { Badge } from '../../../ui/display/badge.tsx';
import { Sparkline } from '../../../ui/display/sparkline.tsx';
import { formatShare } from '../../../ui/display/time.tsx';
import { BreakerBadge, StatusBadge } from '../parts/state-badges.tsx';
import { ResourceLink } from '../parts/resource-link.tsx';
import { rowLabel } from './tree-keys.ts';
import type { TreeRow } from './tree-store.ts';
import styles from './tree.module.css';

interface TreeItemProps {
  readonly id: string;
  readonly row: TreeRow;
  /** In pixels, from the top of the tree. */
  readonly top: number;
  /** Recent traffic; undefined when there is none, or the row is not among the most used. */
  readonly traffic: StatsRow | undefined;
  readonly isActive: boolean;
  readonly onToggle: (isOpen: boolean) => void;
  readonly onPress: () => void;
}

export function TreeItem({ id, row, top, traffic, isActive, onToggle, onPress }: TreeItemProps): ReactNode {
  const isOpen = 'isOpen' in row ? row.isOpen : undefined;
  return (
    <div
      id={id}
      role="treeitem"
      tabIndex={-1}
      aria-level={row.depth + 1}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-expanded={isOpen}
      aria-selected={isActive}
      className={styles['row']}
      data-depth={row.depth}
      style={{ transform: `translateY(${top}px)` }}
      onMouseDown={(event) => {
        // The focus stays with the tree, which outlives its rows.
        event.preventDefault();
        onPress();
      }}
    >
      {isOpen === undefined ? (
        <span className={styles['leaf']} />
      ) : (
        <button
          type="button"
          tabIndex={-1}
          className={styles['twisty']}
          data-open={isOpen}
          aria-label={(isOpen ? appsWords.close : appsWords.open)(rowLabel(row) ?? '')}
          onClick={() => onToggle(!isOpen)}
        >
          <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
            <path d="M3 1.5 7 5 3 8.5" />
          </svg>
        </button>
      )}
      <RowContent row={row} />
      <span className={styles['traffic']}>
        {traffic !== undefined && (
          <Sparkline values={traffic.sparkline} label={appsWords.requestsLately(traffic.requests)} />
        )}
      </span>
    </div>
  );
}

function RowContent({ row }: { readonly row: TreeRow }): ReactNode {
  switch (row.kind) {
    case 'app':
      return (
        <Line
          name={
            <ResourceLink path={row.path} isInTree>
              {row.app.name}
            </ResourceLink>
          }
          detail={appsWords.hostsAndPath(row.app.hosts, row.app.gateway_path)}
        >
          {row.app.routing_mode === 'managed_endpoint' && <Badge>{appsWords.managed}</Badge>}
          {row.app.default_policy !== null && <Badge tone="info">{appsWords.hasPolicy}</Badge>}
        </Line>
      );
    case 'version':
      return (
        <Line
          name={
            <ResourceLink path={row.path} isInTree>
              {row.version.version}
            </ResourceLink>
          }
          detail={row.version.gateway_path}
        >
          <VersionState version={row.version} />
        </Line>
      );
    case 'revision':
      return (
        <Line
          name={
            <ResourceLink path={row.path} isInTree>
              {row.revision.revision}
            </ResourceLink>
          }
          detail={row.revision.backend}
        >
          <RevisionState revision={row.revision} />
        </Line>
      );
    case 'endpoint':
      return (
        <Line
          name={
            <ResourceLink path={row.path} isInTree>
              <span className={styles['method']}>{row.endpoint.method}</span> {row.endpoint.path}
            </ResourceLink>
          }
          detail={row.endpoint.backend_path ?? ''}
        >
          {!row.endpoint.is_active && <Badge tone="warn">{appsWords.disabled}</Badge>}
          {row.endpoint.policy_override !== null && <Badge tone="info">{appsWords.hasPolicy}</Badge>}
        </Line>
      );
    case 'waiting':
      return <span className={styles['soft']}>{appsWords.treeReading}</span>;
    case 'empty':
      return <span className={styles['soft']}>{appsWords.treeEmpty[row.below]}</span>;
    case 'more':
      return (
        <ResourceLink path={row.path} isInTree>
          {appsWords.moreRevisions(row.count)}
        </ResourceLink>
      );
  }
}

interface LineProps {
  readonly name: ReactNode;
  readonly detail: string;
  readonly children: ReactNode;
}

function Line({ name, detail, children }: LineProps): ReactNode {
  return (
    <>
      <span className={styles['name']}>{name}</span>
      <span className={styles['detail']}>{detail}</span>
      <span className={styles['state']}>{children}</span>
    </>
  );
}

function VersionState({ version }: { readonly version: TreeVersion }): ReactNode {
  return (
    <>
      <span className={styles['count']}>{appsWords.endpoints(version.endpoints)}</span>
      <StatusBadge status={version.status} />
    </>
  );
}

function RevisionState({ revision }: { readonly revision: TreeRevision }): ReactNode {
  const { is_current: isCurrent, traffic_share: share, breaker } = revision;
  return (
    <>
      <span className={styles['count']}>{appsWords.endpoints(revision.endpoints)}</span>
      {revision.has_policy && <Badge tone="info">{appsWords.hasPolicy}</Badge>}
      {breaker !== null && breaker !== 'closed' && <BreakerBadge state={breaker} />}
      {isCurrent ? (
        <Badge tone="good">{appsWords.share(formatShare(share))}</Badge>
      ) : (
        <Badge>{appsWords.noTraffic}</Badge>
      )}
    </>
  );
}
