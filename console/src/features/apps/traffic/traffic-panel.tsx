/** The traffic split of a version, and its editor: dragging, typing, adding and removing revisions. */
import { useState, type ReactNode } from 'react';
import type { ApiError } from '../../../api/api-error.ts';
import type { Answer } from '../../../api/call.ts';
import { useRead } from '../../../api/queries.ts';
import type { Revision, TrafficEnvelope } from '../../../api/schema.ts';
import { useMay } from '../../../page/session.ts';
import { trafficWords } from '../../../text/apps.ts';
import { Button } from '../../../ui/controls/button.tsx';
import { TextField } from '../../../ui/controls/field.tsx';
import { ErrorNote, Loaded, Note } from '../../../ui/display/notes.tsx';
import { Panel } from '../../../ui/display/panel.tsx';
import { ConflictSides } from '../../save/conflict.tsx';
import { useSave } from '../../save/save-context.ts';
import { OPERATIONS, apiPath, type ResourcePath } from '../resource-path.ts';
import { SplitBar } from './split-bar.tsx';
import { isSameSplit, readWeight, sharesOf, totalOf, weightsOf, type Share } from './split.ts';
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
            readAgain={async () => (await query.refetch({ throwOnError: true })).data}
          />
        )}
      </Loaded>
    </Panel>
  );
}

interface Draft {
  readonly shares: readonly Share[];
  /** The split that editing began with. */
  readonly base: Answer<TrafficEnvelope>;
}

interface SplitEditorProps extends TrafficPanelProps {
  readonly answer: Answer<TrafficEnvelope>;
  readonly readAgain: () => Promise<Answer<TrafficEnvelope> | undefined>;
}

function SplitEditor({ path, answer, revisions, readAgain }: SplitEditorProps): ReactNode {
  const save = useSave();
  const mayEdit = useMay('editor');
  const [draft, setDraft] = useState<Draft>();
  const [error, setError] = useState<ApiError>();
  /** What was typed in place of a weight, by revision. */
  const [refused, setRefused] = useState<Texts>({});
  /** The split as another write has left it. */
  const [stored, setStored] = useState<Answer<TrafficEnvelope>>();
  const current = inOrder(sharesOf(answer.body.data), revisions);
  const shares = draft?.shares ?? current;
  const isChanged = draft !== undefined && !isSameSplit(shares, current);
  const change = (next: readonly Share[], texts: Texts = {}): void => {
    setDraft((before) => ({ shares: inOrder(next, revisions), base: before?.base ?? answer }));
    setRefused(texts);
  };
  const isReadable = Object.keys(refused).length === 0;
  const reset = (): void => {
    setDraft(undefined);
    setRefused({});
    setError(undefined);
    setStored(undefined);
  };
  const version = path.version ?? '';
  const submit = async (): Promise<void> => {
    setError(undefined);
    const operation = `PUT ${OPERATIONS.version}/traffic`;
    const options = { path: apiPath(path) };
    const done = await save({
      title: trafficWords.splitOf(version),
      operation,
      options: { ...options, body: weightsOf(shares), ifMatch: (draft?.base ?? answer).etag },
      done: trafficWords.splitDone(version),
      onRefused: setError,
      onConflict: (refusal) => void readAgain().then(setStored, () => setError(refusal)),
      ...(current.length > 0 && { undo: { operation, options: { ...options, body: weightsOf(current) } } }),
    });
    if (done !== undefined) reset();
  };
  return (
    <div className={styles['editor']}>
      {stored !== undefined && (
        <ConflictSides
          base={(draft?.base ?? answer).body.data}
          mine={weightsOf(shares)}
          theirs={stored.body.data}
          at={undefined}
          onGoOn={(both) => {
            const next = sharesOf(both as TrafficEnvelope['data']);
            setDraft({ shares: inOrder(next, revisions), base: stored });
            setStored(undefined);
          }}
        />
      )}
      {error !== undefined && <ErrorNote error={error} />}
      <SplitView shares={shares} onChange={mayEdit ? change : undefined} />
      {mayEdit && (
        <>
          <WeightFields {...{ shares, revisions, refused }} onChange={change} />
          {shares.length > 1 && <p className={styles['soft']}>{trafficWords.how}</p>}
          {revisions.length === 1 && <p className={styles['soft']}>{trafficWords.canary}</p>}
          <div className={styles['actions']}>
            <Button
              look="main"
              disabled={!isChanged || !isReadable || shares.length === 0 || stored !== undefined}
              onClick={() => void submit()}
            >
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

/** Texts by the label of a revision. */
type Texts = Readonly<Record<string, string>>;

interface WeightFieldsProps {
  readonly shares: readonly Share[];
  readonly revisions: readonly Revision[];
  /** Texts that are no weights. They stay in their fields, and the shares have the weights from before. */
  readonly refused: Texts;
  readonly onChange: (shares: readonly Share[], refused: Texts) => void;
}

function WeightFields({ shares, revisions, refused, onChange }: WeightFieldsProps): ReactNode {
  const named = new Set(shares.map(({ revision }) => revision));
  const others = revisions.filter(({ revision }) => !named.has(revision));
  const without = (revision: string): Texts => {
    const { [revision]: _, ...texts } = refused;
    return texts;
  };
  const setWeight = (index: number, revision: string, text: string): void => {
    const weight = readWeight(text);
    if (weight === undefined) return onChange(shares, { ...refused, [revision]: text });
    onChange(
      shares.map((share, at) => (at === index ? { ...share, weight } : share)),
      without(revision),
    );
  };
  return (
    <div className={styles['weights']}>
      {shares.map(({ revision, weight }, index) => (
        <div key={revision} className={styles['weight']}>
          <TextField
            label={trafficWords.weightOf(revision)}
            inputMode="numeric"
            value={refused[revision] ?? String(weight)}
            error={refused[revision] === undefined ? undefined : trafficWords.wrongWeight}
            onValue={(text) => setWeight(index, revision, text)}
          />
          <Button
            isSmall
            onClick={() =>
              onChange(
                shares.filter((_, at) => at !== index),
                without(revision),
              )
            }
          >
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
                onChange([...shares, { revision, weight: shares.length === 0 ? 100 : 0 }], refused)
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
