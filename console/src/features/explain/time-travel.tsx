/** How the same request would go at other config versions: a slider over them, and who changed what where it turned. */
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import type { ExplainVersionsResult, RecordChange, VersionSegment } from '../../api/schema.ts';
import { useSearchText } from '../../page/search-text.ts';
import { actionText } from '../../text/actions.ts';
import { explainWords } from '../../text/explain.ts';
import { Button } from '../../ui/controls/button.tsx';
import { FieldShell } from '../../ui/controls/field.tsx';
import { Badge } from '../../ui/display/badge.tsx';
import { Loaded, Note } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { outcomeText, outcomeTone, type ExplainSource } from './source.ts';
import { StageList } from './stage-list.tsx';
import styles from './explain.module.css';

const CHANGES_SHOWN = 10;

interface TimeTravelProps {
  readonly source: ExplainSource;
  /** Asking the history is work for the gateway: it is done when it is wanted. */
  readonly isAsked: boolean;
  readonly onAsk: () => void;
}

export function TimeTravel({ source, isAsked, onAsk }: TimeTravelProps): ReactNode {
  const query = useRead('POST /config/explain', { body: source }, { enabled: isAsked, keepPrevious: true });
  return (
    <Panel title={explainWords.travel}>
      <div className={styles['travel']}>
        <p className={styles['soft']}>{explainWords.travelSummary}</p>
        {isAsked ? (
          <Loaded query={query}>{({ body }) => <Travel result={body.data} source={source} />}</Loaded>
        ) : (
          <div>
            <Button onClick={onAsk}>{explainWords.askVersions}</Button>
          </div>
        )}
      </div>
    </Panel>
  );
}

interface TravelProps {
  readonly result: ExplainVersionsResult;
  readonly source: ExplainSource;
}

function Travel({ result: { segments, complete, config_version: head }, source }: TravelProps): ReactNode {
  const [at, setAt] = useSearchText('at');
  const from = segments[0]?.from_version ?? head;
  const to = segments.at(-1)?.to_version ?? head;
  const wanted = /^\d+$/.test(at) ? Number(at) : to;
  // While it is moved, the address stays: it would change a hundred times.
  const [moved, setMoved] = useState<number>();
  const version = Math.min(to, Math.max(from, moved ?? wanted));
  const segment = segments.find((each) => version <= each.to_version);
  if (segment === undefined) return null;
  const go = (next: number): void => {
    setMoved(undefined);
    setAt(String(next));
  };
  return (
    <>
      <FieldShell label={explainWords.slider} aside={<output>{version}</output>}>
        {({ id, describedBy }) => (
          <input
            id={id}
            aria-describedby={describedBy}
            className={styles['slider']}
            type="range"
            min={from}
            max={to}
            value={version}
            aria-valuetext={explainWords.sliderValue(version, outcomeText(segment.outcome))}
            onChange={(event) => setMoved(Number(event.currentTarget.value))}
            onPointerUp={() => go(version)}
            onKeyUp={() => go(version)}
            onBlur={() => moved !== undefined && go(version)}
          />
        )}
      </FieldShell>
      <div className={styles['segments']} role="group" aria-label={explainWords.segments}>
        {segments.map((each) => (
          <SegmentButton
            key={each.from_version}
            segment={each}
            isChosen={each === segment}
            onChoose={() => go(each === segments.at(-1) ? each.to_version : each.from_version)}
          />
        ))}
      </div>
      {!complete && <Note tone="warn">{explainWords.incomplete}</Note>}
      <SegmentView segment={segment} isOldest={segment === segments[0]} />
      <WholeAt key={version} version={version} source={source} />
    </>
  );
}

interface SegmentButtonProps {
  readonly segment: VersionSegment;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function SegmentButton({ segment, isChosen, onChoose }: SegmentButtonProps): ReactNode {
  const { from_version: from, to_version: to, outcome } = segment;
  const text = explainWords.segment(from, to, outcomeText(outcome));
  return (
    <button
      type="button"
      className={styles['segment']}
      data-tone={outcomeTone(outcome.outcome)}
      aria-pressed={isChosen}
      aria-label={text}
      title={text}
      style={{ flexGrow: to - from + 1 }}
      onClick={onChoose}
    />
  );
}

function SegmentView({
  segment,
  isOldest,
}: {
  readonly segment: VersionSegment;
  readonly isOldest: boolean;
}): ReactNode {
  const { outcome, from_version: from, actor, source, action, message, at } = segment;
  return (
    <div className={styles['at']} role="status">
      <div className={styles['stageHead']}>
        <strong>{outcomeText(outcome)}</strong>
        <Badge tone={segment.same_as_now ? 'neutral' : 'info'}>
          {segment.same_as_now ? explainWords.asNow : explainWords.otherThanNow}
        </Badge>
      </div>
      {outcome.detail !== null && <div>{outcome.detail}</div>}
      {outcome.backend !== null && <code className={styles['value']}>{outcome.backend}</code>}
      {outcome.guessed && <Note tone="warn">{explainWords.guessed}</Note>}
      <div>
        {isOldest && segment.exact ? (
          explainWords.oldest
        ) : (
          <>
            {explainWords.since(from)}
            {at !== null && (
              <>
                {' · '}
                <Time at={at} />
              </>
            )}
            {actor !== null && ` · ${explainWords.changedBy(actor, source ?? '')}`}
            {action !== null && ` · ${actionText(action, [])}`} {!segment.exact && explainWords.notExact}
          </>
        )}
      </div>
      {message !== null && message !== '' && <q>{message}</q>}
      {at !== null && <Boundary version={from} />}
    </div>
  );
}

/** The changes of the version that changed the answer. */
function Boundary({ version }: { readonly version: number }): ReactNode {
  const { data } = useRead('GET /config/versions/{config_version}', {
    path: { config_version: String(version) },
    query: { limit: CHANGES_SHOWN },
  });
  const changes = data?.body.data.changes ?? [];
  const more = (data?.body.data.changed_records ?? 0) - changes.length;
  return (
    <div>
      {changes.length > 0 && (
        <ul className={styles['changes']} aria-label={explainWords.changes}>
          {changes.map((change) => (
            <li key={change.id}>
              {change.change} {change.type} <code>{change.path.join(' / ')}</code> {fieldsOf(change)}
            </li>
          ))}
          {more > 0 && <li>{explainWords.moreChanges(more)}</li>}
        </ul>
      )}
      <Link to="/history/$version" params={{ version: String(version) }}>
        {explainWords.toHistory(version)}
      </Link>
    </div>
  );
}

/** Names of the fields that an update changed. */
function fieldsOf({ before, after }: RecordChange): string {
  if (before === null || after === null) return '';
  const names = Object.keys({ ...before, ...after }).filter(
    (name) => name !== 'updated_at' && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  return names.length === 0 ? '' : `(${names.join(', ')})`;
}

function WholeAt({
  version,
  source,
}: {
  readonly version: number;
  readonly source: ExplainSource;
}): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const query = useRead('POST /config/explain', { body: { ...source, version } }, { enabled: isOpen });
  if (!isOpen) {
    return (
      <div>
        <Button onClick={() => setOpen(true)}>{explainWords.wholeAt(version)}</Button>
      </div>
    );
  }
  return (
    <section aria-label={explainWords.wayAt(version)} className={styles['facts']}>
      <h3>{explainWords.wayAt(version)}</h3>
      <Loaded query={query}>
        {({ body }) =>
          body.data.version === null ? null : <StageList explanation={body.data.version.explanation} />
        }
      </Loaded>
    </section>
  );
}
