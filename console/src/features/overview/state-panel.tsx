/** The parts of the gateway side by side: what each is, or how many problems it has. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import type { CurrentProblem, GatewayState, Node } from '../../api/schema.ts';
import { stateWords } from '../../text/overview.ts';
import { Badge } from '../../ui/display/badge.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { formatMs, formatShare, Time } from '../../ui/display/time.tsx';
import { PartsPanel } from './parts-panel.tsx';
import { TONES } from './problem-list.tsx';
import styles from './overview.module.css';

const EVERY_MS = 10_000;

interface StatePanelProps {
  /** undefined: not known yet. */
  readonly problems: readonly CurrentProblem[] | undefined;
}

export function StatePanel({ problems }: StatePanelProps): ReactNode {
  const nodes = useRead('GET /nodes', {}, { everyMs: EVERY_MS }).data?.body.data;
  const states = useRead('GET /state', {}, { everyMs: EVERY_MS }).data?.body.data;
  const self = nodes?.nodes.find((node) => node.is_self);
  const own = states?.find((node) => node.is_self)?.state ?? undefined;
  // The page that is shown came from one that answers; what the others have is not known.
  const silent = states?.filter(({ state }) => state === null).length ?? 0;
  const hasProblem = problems?.some(({ link }) => link.kind === 'nodes') === true;
  const row = (kinds: readonly Kind[]): ReactNode => <StateBadge kinds={kinds} problems={problems} />;
  return (
    <>
      <Panel title={stateWords.title} isFlush>
        <dl className={styles['state']}>
          <StateItem name={stateWords.database} aside={own && databaseText(own)}>
            {row(['database', 'config_file'])}
          </StateItem>
          <StateItem name={stateWords.breakers} to="/health" aside={own && backendsText(own)}>
            {row(['revision'])}
          </StateItem>
          <StateItem name={stateWords.limits} aside={own && countersText(own)}>
            {row(['limits'])}
          </StateItem>
          <StateItem name={stateWords.workers} aside={own && workersText(own)}>
            {row(['workers'])}
          </StateItem>
          <StateItem name={stateWords.certificates} aside={own && certificatesText(own)}>
            {row(['certificates'])}
          </StateItem>
          <StateItem
            name={stateWords.nodes}
            to="/nodes"
            aside={nodes && nodesText(nodes.nodes, nodes.config_version)}
          >
            {silent > 0 && !hasProblem ? (
              <Badge tone="warn">{stateWords.silent(silent)}</Badge>
            ) : (
              row(['nodes'])
            )}
          </StateItem>
          {self !== undefined && (
            <StateItem name={stateWords.upSince} aside={self.version}>
              <Time at={self.started_at} relative="ago" />
            </StateItem>
          )}
        </dl>
      </Panel>
      {states !== undefined && <PartsPanel nodes={states} />}
    </>
  );
}

function databaseText({ database: { driver, latency_ms: latency } }: GatewayState): string {
  return latency === null ? driver : `${driver}, ${formatMs(latency)}`;
}

function backendsText({ breakers: { closed, half_open: tried, open } }: GatewayState): string {
  return stateWords.backends(closed, tried + open);
}

function countersText({ limit_counters: { bytes, bytes_max: most } }: GatewayState): string {
  return stateWords.countersUsed(formatShare(bytes / most));
}

function workersText({ workers: { listening, configured } }: GatewayState): string {
  return stateWords.workersOf(listening, configured);
}

function certificatesText({ certificates }: GatewayState): string {
  if (certificates.length === 0) return stateWords.noTls;
  return stateWords.nextEnd(Math.min(...certificates.map(({ days_left: days }) => days)));
}

type Kind = CurrentProblem['link']['kind'];

interface StateItemProps {
  readonly name: string;
  readonly to?: '/health' | '/nodes';
  readonly aside?: string | undefined;
  readonly children: ReactNode;
}

function StateItem({ name, to, aside, children }: StateItemProps): ReactNode {
  return (
    <div>
      <dt>{to === undefined ? name : <Link to={to}>{name}</Link>}</dt>
      <dd>
        {children}
        {aside !== undefined && <span className={styles['soft']}>{aside}</span>}
      </dd>
    </div>
  );
}

interface StateBadgeProps extends StatePanelProps {
  readonly kinds: readonly Kind[];
}

function StateBadge({ kinds, problems }: StateBadgeProps): ReactNode {
  if (problems === undefined) return <Badge>{stateWords.checking}</Badge>;
  const own = problems.filter(({ link }) => kinds.includes(link.kind));
  const [worst] = own;
  if (worst === undefined) return <Badge tone="good">{stateWords.fine}</Badge>;
  return <Badge tone={TONES[worst.severity]}>{stateWords.problems(own.length)}</Badge>;
}

function nodesText(nodes: readonly Node[], configVersion: number): string {
  const lagging = nodes.filter(({ state }) => state === 'lagging').length;
  const parts = [stateWords.live(nodes.length), stateWords.configVersion(configVersion)];
  if (lagging > 0) parts.push(stateWords.lagging(lagging));
  return parts.join(', ');
}
