/** The traffic split of a version, and its editor: dragging, typing, adding and removing revisions. */
import { useState, type ReactNode } from 'react';
import { isConflictOfVersions, type ApiError } from '../../../api/api-error.ts';
import type { Answer } from '../../../api/call.ts';
import { useRead } from '../../../api/queries.ts';
import type { Revision, TrafficEnvelope } from '../../../api/schema.ts';
import { useMay } from '../../../page/session.ts';
import { trafficWords } from '../../../text/apps.ts';
import { Button } from '../../../ui/controls/button.tsx';
import { TextField } from '../../../ui/controls/field.tsx';
import { ErrorNote, Loaded, Note } from '../../../ui/display/notes.tsx';
import { Panel } from '../../../ui/display/panel.tsx';
import { formatShare } from '../../../ui/display/time.tsx';
import { useSave } from '../../save/save-context.ts';
import { OPERATIONS, apiPath, type ResourcePath } from '../resource-path.ts';
import { SplitBar } from './split-bar.tsx';
import { isSameSplit, shareOf, sharesOf, totalOf, weightsOf, withFineWeights, type Share } from './split.ts';
import styles from './traffic.module.css';

interface TrafficPanelProps {
  /** The path of the version. */
  readonly path: ResourcePath;
  readonly revisions: readonly Revision[];
}

export function TrafficPanel({ path, revisions }: TrafficPanelProps): ReactNode {
  const query = useRead('GET /apps/{app_id}/versions/{version_id}/traffic', {
    path: { app_id: path.app, version_id: path.version ?? '' },
  });
  return (
    <Panel title={trafficWords.title}>
      <Loaded query={query}>
        {(answer) => (
          <SplitEditor
            path={path}
            answer={answer}
            revisions={revisions}
            onStale={() => void query.refetch()}
          />
        )}
      </Loaded>
    </Panel>
  );
}

interface Draft {
  readonly shares: readonly Share[];
  /** ETag of the split that editing began with. */
  readonly etag: string | undefined;
}

interface SplitEditorProps extends TrafficPanelProps {
  readonly answer: Answer<TrafficEnvelope>;
  /** Another write came first. */
  readonly onStale: () => void;
}

function SplitEditor({ path, answer, revisions, onStale }: SplitEditorProps): ReactNode {
  const save = useSave();
  const mayEdit = useMay('editor');
  const [draft, setDraft] = useState<Draft>();
  const [error, setError] = useState<ApiError>();
  const current = inOrder(sharesOf(answer.body.data), revisions);
  const shares = draft?.shares ?? current;
  const isChanged = draft !== undefined && !isSameSplit(shares, current);
  const change = (next: readonly Share[]): void =>
    setDraft((before) => ({ shares: inOrder(next, revisions), etag: before?.etag ?? answer.etag }));
  const reset = (): void => {
    setDraft(undefined);
    setError(undefined);
  };
  const version = path.version ?? '';
  const submit = async (): Promise<void> => {
    setError(undefined);
    const operation = `PUT ${OPERATIONS.version}/traffic`;
    const options = { path: apiPath(path) };
    const done = await save({
      title: trafficWords.splitOf(version),
      operation,
      options: { ...options, body: weightsOf(shares), ifMatch: draft?.etag ?? answer.etag },
      done: trafficWords.splitDone(version),
      onRefused: setError,
      onConflict: (refusal) => {
        setError(refusal);
        // The edits stay, on top of the split that is read now.
        setDraft({ shares, etag: undefined });
        onStale();
      },
      ...(current.length > 0 && { undo: { operation, options: { ...options, body: weightsOf(current) } } }),
    });
    if (done !== undefined) reset();
  };
  return (
    <div className={styles['editor']}>
      {error !== undefined && <Refusal error={error} current={current} />}
      <SplitView shares={shares} onChange={mayEdit ? change : undefined} />
      {mayEdit && (
        <>
          <WeightFields shares={shares} revisions={revisions} onChange={change} />
          {shares.length > 1 && <p className={styles['soft']}>{trafficWords.how}</p>}
          {revisions.length === 1 && <p className={styles['soft']}>{trafficWords.canary}</p>}
          <div className={styles['actions']}>
            <Button look="main" disabled={!isChanged || shares.length === 0} onClick={() => void submit()}>
              {trafficWords.save}
            </Button>
            <Button disabled={draft === undefined} onClick={reset}>
              {trafficWords.reset}
            </Button>
          </div>
        </>
      )}
    </div>
  );
}

function Refusal({
  error,
  current,
}: {
  readonly error: ApiError;
  readonly current: readonly Share[];
}): ReactNode {
  if (!isConflictOfVersions(error)) return <ErrorNote error={error} />;
  const theirs = current.map(({ revision }, index) => `${revision} ${formatShare(shareOf(current, index))}`);
  return (
    <Note tone="warn">
      <span role="alert">{trafficWords.changedMeanwhile(theirs.join(', '))}</span>
    </Note>
  );
}

interface SplitProps {
  readonly shares: readonly Share[];
  readonly onChange: ((shares: readonly Share[]) => void) | undefined;
}

function SplitView({ shares, onChange }: SplitProps): ReactNode {
  if (shares.length === 0) return <Note tone="warn">{trafficWords.none}</Note>;
  if (totalOf(shares) === 0) return <Note tone="warn">{trafficWords.noWeight}</Note>;
  const [first] = shares;
  if (shares.length === 1 && first !== undefined) return <p>{trafficWords.one(first.revision)}</p>;
  return <SplitBar shares={shares} onChange={onChange} />;
}

interface WeightFieldsProps {
  readonly shares: readonly Share[];
  readonly revisions: readonly Revision[];
  readonly onChange: (shares: readonly Share[]) => void;
}

const WEIGHT_MAX = 1_000_000;

function WeightFields({ shares, revisions, onChange }: WeightFieldsProps): ReactNode {
  const named = new Set(shares.map(({ revision }) => revision));
  const others = revisions.filter(({ revision }) => !named.has(revision));
  const setWeight = (index: number, text: string): void => {
    const weight = Math.min(WEIGHT_MAX, Number(text.replaceAll(/\D/g, '')));
    onChange(shares.map((share, at) => (at === index ? { ...share, weight } : share)));
  };
  return (
    <div className={styles['weights']}>
      {shares.map(({ revision, weight }, index) => (
        <div key={revision} className={styles['weight']}>
          <TextField
            label={trafficWords.weightOf(revision)}
            inputMode="numeric"
            value={String(weight)}
            onValue={(text) => setWeight(index, text)}
          />
          <Button isSmall onClick={() => onChange(shares.filter((_, at) => at !== index))}>
            {trafficWords.remove(revision)}
          </Button>
        </div>
      ))}
      {others.length > 0 && (
        <div className={styles['others']}>
          <span className={styles['soft']}>{trafficWords.notInSplit}</span>
          {others.map(({ revision }) => (
            <Button
              key={revision}
              isSmall
              onClick={() =>
                onChange([...withFineWeights(shares), { revision, weight: shares.length === 0 ? 100 : 0 }])
              }
            >
              {trafficWords.add(revision)}
            </Button>
          ))}
        </div>
      )}
    </div>
  );
}

/** In the order of creation, so that each share keeps its place. */
function inOrder(shares: readonly Share[], revisions: readonly Revision[]): readonly Share[] {
  const places = new Map(revisions.map(({ revision }, index) => [revision, index]));
  return shares.toSorted((a, b) => (places.get(a.revision) ?? 0) - (places.get(b.revision) ?? 0));
}
