/** The text of the configuration, its plan, and the apply of that plan. */
import { useEffect, useMemo, useState, type ReactNode } from 'react';
import { useMutation } from '@tanstack/react-query';
import { ApiError } from '../../api/api-error.ts';
import { call } from '../../api/call.ts';
import { editWords as say } from '../../text/edit.ts';
import { Button } from '../../ui/controls/button.tsx';
import { CheckField } from '../../ui/controls/field.tsx';
import { ErrorNote, Note } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { checkValue, type Problem } from '../../ui/editor/check-value.ts';
import { LONG_CHARS } from '../../ui/editor/yaml-places.ts';
import { CodeEditor } from '../../ui/editor/code-editor.tsx';
import type { JsonSchema } from '../../ui/editor/json-schema.ts';
import { isSame, type Fields } from '../save/merge-patch.ts';
import { DELETES_MAX, type PlanAnswer } from '../save/plan-types.ts';
import { BothSides } from '../save/both-sides.tsx';
import {
  configDraft,
  configText,
  isEdited,
  keepConfigDraft,
  keptConfigDraft,
  readConfig,
  readDraft,
  type ConfigDraft,
  type ReadConfig,
} from './config-draft.ts';
import { ConfigPlan, type Planned } from './config-plan.tsx';
import styles from './policies.module.css';

interface ConfigEditorProps {
  /** Slug of the app; '' is all of them. */
  readonly app: string;
  /** The currently stored tree. */
  readonly tree: Fields;
  readonly version: number;
  readonly schema: JsonSchema | undefined;
}

/** A long text is read once nothing has been typed for so long. */
const PAUSE_MS = 600;

export function ConfigEditor({ app, tree, version, schema }: ConfigEditorProps): ReactNode {
  const [kept] = useState(() => keptConfigDraft(app));
  const [draft, setDraft] = useState(() => kept ?? configDraft(tree, version));
  const [adopt, setAdopt] = useState(false);
  const settled = useSettled(draft);
  const read = useMemo(() => readDraft(settled), [settled]);
  const edited = draft.text !== draft.baseText && (draft.text !== settled.text || isEdited(settled));
  if (!edited && !isSame(draft.base, tree)) setDraft(configDraft(tree, version));
  useEffect(() => keepConfigDraft(app, settled), [app, settled]);
  const plan = usePlan();
  const planned = plan.data?.text === draft.text ? plan.data : undefined;
  const problems = useProblems(read, schema, plan.error);
  const isMoved = edited && !isSame(draft.base, tree);
  const discard = (): void => {
    plan.reset();
    setDraft(configDraft(tree, version));
  };
  return (
    <>
      <Panel
        title={say.yaml}
        actions={
          <>
            <span className={styles['hint']}>{say.readAt(draft.version)}</span>
            {edited && <Button onClick={discard}>{say.discard}</Button>}
          </>
        }
      >
        <div className={styles['parts']}>
          {kept !== undefined && edited && <Note tone="neutral">{say.restored}</Note>}
          <CodeEditor
            label={say.yaml}
            value={draft.text}
            schema={schema}
            problems={problems}
            onValue={(next) => setDraft((before) => ({ ...before, text: next }))}
          />
          {read?.problem !== undefined && <Note tone="warn">{say.broken(read.problem)}</Note>}
          {read === undefined && <Note tone="neutral">{say.long}</Note>}
          <CheckField label={say.adopt} hint={say.adoptHint} checked={adopt} onChecked={setAdopt} />
          {isMoved ? (
            <Moved draft={draft} read={read} tree={tree} version={version} onMerged={setDraft} />
          ) : (
            <div>
              <Button
                look="main"
                isBusy={plan.isPending}
                disabled={read?.problem !== undefined || !edited}
                onClick={() => plan.mutate({ text: draft.text, adopt })}
              >
                {say.plan}
              </Button>
            </div>
          )}
          {plan.error !== null && <ErrorNote error={plan.error} />}
        </div>
      </Panel>
      {planned === undefined ? (
        <Panel title={say.planTitle}>
          <p role="status">{plan.isPending ? say.planning : edited ? say.planFirst : say.notChanged}</p>
        </Panel>
      ) : (
        <ConfigPlan
          app={app}
          planned={planned}
          onPlanAgain={() => plan.mutate({ text: draft.text, adopt })}
          onApplied={() =>
            setDraft({ ...draft, base: readConfig(draft.text).config ?? draft.base, baseText: draft.text })
          }
        />
      )}
    </>
  );
}

function usePlan() {
  return useMutation({
    mutationFn: async ({
      text,
      adopt,
    }: {
      readonly text: string;
      readonly adopt: boolean;
    }): Promise<Planned> => {
      const { config, problem } = readConfig(text);
      if (config === undefined) throw new Error(say.broken(problem ?? ''));
      const body = { config, adopt, max_deletes: DELETES_MAX };
      const { body: answer } = await call('POST /config/plan', { body });
      const { data, warnings = [] } = answer;
      return { text, body, plan: { ...(data as unknown as PlanAnswer), warnings } };
    },
  });
}

/** The draft itself; a long text only changes when the reader pauses. */
function useSettled(draft: ConfigDraft): ConfigDraft {
  const [paused, setPaused] = useState(draft);
  const isLong = draft.text.length > LONG_CHARS;
  useEffect(() => {
    const timer = setTimeout(() => setPaused(draft), isLong ? PAUSE_MS : 0);
    return () => clearTimeout(timer);
  }, [draft, isLong]);
  return isLong && draft.text !== draft.baseText ? paused : draft;
}

function useProblems(
  read: ReadConfig | undefined,
  schema: JsonSchema | undefined,
  error: Error | null,
): readonly Problem[] {
  return useMemo(() => {
    const refused =
      error instanceof ApiError
        ? error.fields.map(({ pointer, detail }) => ({
            pointer: pointer.replace(/^\/config/, ''),
            message: detail,
          }))
        : [];
    if (read?.config === undefined || schema === undefined) return refused;
    return [...checkValue(read.config, schema), ...refused];
  }, [read, schema, error]);
}

interface MovedProps {
  readonly draft: ConfigDraft;
  readonly read: ReadConfig | undefined;
  readonly tree: Fields;
  readonly version: number;
  readonly onMerged: (draft: ConfigDraft) => void;
}

/** Others have changed the same configuration: both sides are merged before a plan is made. */
function Moved({ draft, read, tree, version, onMerged }: MovedProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const mine = useMemo(
    () => read ?? (isOpen ? readConfig(draft.text) : { config: {} }),
    [read, isOpen, draft.text],
  );
  if (mine.config === undefined) return null;
  return (
    <>
      <Note tone="warn">
        <span>{say.movedSinceRead(draft.version, version)}</span>
        {!isOpen && (
          <Button isSmall onClick={() => setOpen(true)}>
            {say.merge}
          </Button>
        )}
      </Note>
      {isOpen && (
        <BothSides
          base={draft.base}
          mine={mine.config}
          theirs={tree}
          onGoOn={(both) => onMerged({ base: tree, version, text: configText(both) })}
        />
      )}
    </>
  );
}
