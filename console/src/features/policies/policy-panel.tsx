/**
 * The policy of an app, a revision or an endpoint: a form for each part, and the same as YAML beside it, both for
 * one unsaved edit. Only changes are saved.
 */
import { useState, type ReactNode } from 'react';
import type { ApiError } from '../../api/api-error.ts';
import { useMay } from '../../page/session.ts';
import { policyWords } from '../../text/policies.ts';
import { ErrorNote, Loading, Note } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { checkValue, stepsOf, type Problem } from '../../ui/editor/check-value.ts';
import { CodeEditor } from '../../ui/editor/code-editor.tsx';
import type { JsonSchema } from '../../ui/editor/json-schema.ts';
import { isSame, valueAt, type Fields } from '../save/merge-patch.ts';
import { useSave } from '../save/save-context.ts';
import { isDirty, patchOf, withText, type Draft } from './draft.ts';
import { PartList } from './part-list.tsx';
import {
  PLACES,
  useInherited,
  useKeepRecord,
  usePolicySchema,
  useRecord,
  useWarnings,
  type PolicyLevel,
  type PolicyPath,
  type RecordEnvelope,
} from './policy-place.ts';
import styles from './policies.module.css';
import { SaveBar } from './save-bar.tsx';
import { useDraft } from './use-draft.ts';

interface PolicyPanelProps {
  readonly level: PolicyLevel;
  /** `app_id`, and below it `version_id`, `revision_id`, `endpoint_id`: ids or names. */
  readonly path: PolicyPath;
}

export function PolicyPanel({ level, path }: PolicyPanelProps): ReactNode {
  const record = useRecord(level, path);
  const { schema, error } = usePolicySchema();
  const problem = record.error ?? error;
  if (record.data === undefined || schema === undefined) {
    return (
      <Panel title={policyWords.title}>
        {problem === null ? <Loading /> : <ErrorNote error={problem} onRetry={() => void record.refetch()} />}
      </Panel>
    );
  }
  const { data } = record.data.body;
  return (
    <PolicyEditor
      key={data.id}
      level={level}
      path={path}
      schema={schema}
      record={data}
      etag={record.data.etag}
    />
  );
}

interface EditorProps extends PolicyPanelProps {
  readonly schema: JsonSchema;
  readonly record: RecordEnvelope['data'];
  readonly etag: string | undefined;
}

function PolicyEditor({ level, path, schema, record, etag }: EditorProps): ReactNode {
  const { field } = PLACES[level];
  const { draft, change, reset, isRestored } = useDraft(`${level}:${record.id}`, record[field], etag);
  const [refused, setRefused] = useState<Refused>();
  const inherited = useInherited(level, path);
  const warnings = useWarnings(level, path);
  const mayEdit = useMay('editor');
  const save = useSavePolicy({ level, path, draft, reset, onRefused: setRefused });
  const problems = [...checkValue(draft.value, schema), ...standing(refused, draft, field)];
  return (
    <Panel title={policyWords.title}>
      <div className={styles['sides']}>
        <div className={styles['parts']}>
          {!mayEdit && <Note tone="neutral">{policyWords.readOnly}</Note>}
          {inherited.error !== null && <ErrorNote error={inherited.error} />}
          {draft.problem !== undefined && <Note tone="warn">{policyWords.yamlBroken(draft.problem)}</Note>}
          <PartList
            {...{ schema, draft, change, problems, warnings }}
            inherited={inherited.parts}
            perAddress={inherited.perAddress}
            policyField={field}
            mayEdit={mayEdit && draft.problem === undefined}
          />
        </div>
        <div className={styles['yaml']}>
          <h3 aria-hidden="true">{policyWords.yaml}</h3>
          <CodeEditor
            label={policyWords.yaml}
            value={draft.text}
            schema={schema}
            problems={problems}
            isReadOnly={!mayEdit}
            onValue={(text) => change((before) => withText(before, text))}
          />
        </div>
      </div>
      {mayEdit && isDirty(draft) && (
        <SaveBar
          draft={draft}
          problems={problems.length}
          isRestored={isRestored}
          refused={refused !== undefined && isSame(refused.value, draft.value) ? refused.error : undefined}
          onDiscard={() => reset(record[field], etag)}
          onSave={save}
        />
      )}
    </Panel>
  );
}

interface Refused {
  readonly error: ApiError;
  /** The value that was refused. */
  readonly value: Fields;
}

/** The gateway's errors, as long as the value at the place is the one it refused. */
function standing(refused: Refused | undefined, draft: Draft, field: string): readonly Problem[] {
  if (refused === undefined) return [];
  return refused.error.fields
    .filter(({ pointer }) => pointer === `/${field}` || pointer.startsWith(`/${field}/`))
    .map(({ pointer, detail }) => ({ pointer: pointer.slice(field.length + 1), message: detail }))
    .filter(({ pointer }) => {
      const at = stepsOf(pointer).filter((step) => !/^\d+$/.test(step));
      return isSame(valueAt(refused.value, at), valueAt(draft.value, at));
    });
}

interface SaveParts extends PolicyPanelProps {
  readonly draft: Draft;
  readonly reset: (policy: unknown, etag: string | undefined) => void;
  readonly onRefused: (refused: Refused | undefined) => void;
}

function useSavePolicy({ level, path, draft, reset, onRefused }: SaveParts): () => Promise<void> {
  const save = useSave();
  const keepRecord = useKeepRecord(level, path);
  const { record, field } = PLACES[level];
  return async () => {
    onRefused(undefined);
    const answer = await save<RecordEnvelope>({
      title: policyWords.saveTitle,
      operation: `PATCH ${record}`,
      options: { path, body: { [field]: patchOf(draft) }, ifMatch: draft.etag },
      base: { [field]: draft.base },
      done: policyWords.saved,
      onRefused: (error) => onRefused({ error, value: draft.value }),
    });
    if (answer === undefined) return;
    keepRecord(answer);
    reset(answer.body.data[field], answer.etag);
  };
}
