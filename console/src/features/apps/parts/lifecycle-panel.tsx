/** A version's way from active over deprecated to retired, and back. */
import { useState, type ReactNode } from 'react';
import type { ApiError } from '../../../api/api-error.ts';
import { useRead } from '../../../api/queries.ts';
import type { Version } from '../../../api/schema.ts';
import { useMay } from '../../../page/session.ts';
import { appsWords, lifecycleWords } from '../../../text/apps.ts';
import { words } from '../../../text/words.ts';
import { Button } from '../../../ui/controls/button.tsx';
import { FieldGrid, SelectField, TextField } from '../../../ui/controls/field.tsx';
import { apiTime } from '../../../ui/controls/local-time.ts';
import { KeyValues } from '../../../ui/display/key-values.tsx';
import { ErrorNote } from '../../../ui/display/notes.tsx';
import { Panel } from '../../../ui/display/panel.tsx';
import { Time } from '../../../ui/display/time.tsx';
import { useSave, type Save } from '../../save/save-context.ts';
import formStyles from '../forms/forms.module.css';
import { OPERATIONS, apiPath, type ResourcePath } from '../resource-path.ts';
import { StatusBadge } from './state-badges.tsx';

interface LifecycleProps {
  readonly path: ResourcePath;
  readonly version: Version;
  readonly etag: string | undefined;
}

interface StatusChange {
  readonly title: string;
  readonly action: string;
  readonly done: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly onRefused?: (error: ApiError) => void;
}

function setStatus(
  save: Save,
  { path, version, etag }: LifecycleProps,
  change: StatusChange,
): Promise<unknown> {
  const before: Readonly<Record<string, unknown>> = { ...version };
  return save({
    ...change,
    operation: `PATCH ${OPERATIONS.version}`,
    options: { path: apiPath(path), body: change.body, ifMatch: etag },
    base: Object.fromEntries(Object.keys(change.body).map((name) => [name, before[name]])),
  });
}

export function LifecyclePanel(props: LifecycleProps): ReactNode {
  const { version } = props;
  const save = useSave();
  const mayEdit = useMay('editor');
  const [isDeprecating, setDeprecating] = useState(false);
  const label = version.version;
  const retire = {
    title: lifecycleWords.retireOf(label),
    action: lifecycleWords.retire,
    done: lifecycleWords.isRetired(label),
    body: { status: 'retired' },
  };
  const bringBack = {
    title: lifecycleWords.bringBackOf(label),
    action: lifecycleWords.bringBack,
    done: lifecycleWords.isActive(label),
    body: { status: 'active' },
  };
  return (
    <Panel title={lifecycleWords.title}>
      <div className={formStyles['form']}>
        <div>
          <StatusBadge status={version.status} /> {lifecycleWords[version.status]}
        </div>
        <Announced version={version} />
        {mayEdit && isDeprecating && <DeprecateForm {...props} onEnd={() => setDeprecating(false)} />}
        {mayEdit && !isDeprecating && (
          <div className={formStyles['actions']}>
            {version.status === 'active' && (
              <Button onClick={() => setDeprecating(true)}>{lifecycleWords.deprecate}</Button>
            )}
            {version.status !== 'retired' && (
              <Button look="danger" onClick={() => void setStatus(save, props, retire)}>
                {lifecycleWords.retire}
              </Button>
            )}
            {version.status !== 'active' && (
              <Button onClick={() => void setStatus(save, props, bringBack)}>
                {lifecycleWords.bringBack}
              </Button>
            )}
          </div>
        )}
      </div>
    </Panel>
  );
}

function Announced({ version }: { readonly version: Version }): ReactNode {
  const { deprecated_at: deprecatedAt, sunset_at: sunsetAt, successor } = version;
  const { facts } = appsWords;
  return (
    <KeyValues
      rows={[
        [
          facts.deprecatedAt,
          deprecatedAt === null ? words.none : <Time key="deprecated" at={deprecatedAt} />,
        ],
        [facts.sunset, sunsetAt === null ? words.none : <Time key="sunset" at={sunsetAt} />],
        [facts.successor, successor ?? words.none],
      ]}
    />
  );
}

function DeprecateForm(props: LifecycleProps & { readonly onEnd: () => void }): ReactNode {
  const { path, version, onEnd } = props;
  const save = useSave();
  const [sunset, setSunset] = useState('');
  const [successor, setSuccessor] = useState(version.successor ?? '');
  const [error, setError] = useState<ApiError>();
  const siblings = useRead('GET /apps/{app_id}/versions', {
    path: { app_id: path.app },
    query: { limit: 500 },
  });
  const labels = (siblings.data?.body.data ?? [])
    .map((one) => one.version)
    .filter((one) => one !== version.version);
  const choices = [...new Set(['', ...labels, successor])];
  const label = version.version;
  const submit = async (): Promise<void> => {
    setError(undefined);
    const answer = await setStatus(save, props, {
      title: lifecycleWords.deprecateOf(label),
      action: lifecycleWords.deprecate,
      done: lifecycleWords.isDeprecated(label),
      body: {
        status: 'deprecated',
        sunset_at: sunset === '' ? null : (apiTime(sunset) ?? sunset),
        successor: successor === '' ? null : successor,
      },
      onRefused: setError,
    });
    if (answer !== undefined) onEnd();
  };
  return (
    <form
      className={formStyles['form']}
      aria-label={lifecycleWords.deprecateOf(label)}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {error !== undefined && <ErrorNote error={error} />}
      <FieldGrid>
        <TextField
          label={lifecycleWords.sunset}
          hint={lifecycleWords.sunsetHint}
          error={error?.fieldMessage('/sunset_at')}
          type="datetime-local"
          value={sunset}
          onValue={setSunset}
        />
        <SelectField
          label={lifecycleWords.successor}
          error={error?.fieldMessage('/successor')}
          value={successor}
          choices={choices.map((value) => ({
            value,
            label: value === '' ? lifecycleWords.noSuccessor : value,
          }))}
          onValue={setSuccessor}
        />
      </FieldGrid>
      <div className={formStyles['actions']}>
        <Button type="submit" look="main">
          {lifecycleWords.deprecate}
        </Button>
        <Button onClick={onEnd}>{words.cancel}</Button>
      </div>
    </form>
  );
}
