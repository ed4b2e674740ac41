/** Finds the config version since which a request is answered as it is now. */
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode, type SubmitEvent } from 'react';
import { call } from '../../api/call.ts';
import type { ConfigBisectResult, VersionOutcome } from '../../api/schema.ts';
import { useActorNames } from '../../page/actor-names.ts';
import { actionText } from '../../text/actions.ts';
import { historyWords } from '../../text/history.ts';
import { Button } from '../../ui/controls/button.tsx';
import { SelectField, TextField } from '../../ui/controls/field.tsx';
import { KeyValues, row } from '../../ui/display/key-values.tsx';
import { ErrorNote, Note } from '../../ui/display/notes.tsx';
import { Columns, Panel } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { SourceBadge } from './versions.tsx';
import styles from './history.module.css';

type Expected = '' | 'forwarded' | 'answered' | 'denied' | 'failed';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((value) => ({
  value,
  label: value,
}));
const EXPECTED = (['', 'forwarded', 'answered', 'denied', 'failed'] as const).map((value) => ({
  value,
  label: value === '' ? historyWords.expectedAny : historyWords.outcomes[value],
}));

export function Bisect(): ReactNode {
  const [method, setMethod] = useState('GET');
  const [url, setUrl] = useState('');
  const [token, setToken] = useState('');
  const [expected, setExpected] = useState<Expected>('');
  const [found, setFound] = useState<ConfigBisectResult>();
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const find = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      const request = { method, url: url.trim(), ...(token.trim() !== '' && { token: token.trim() }) };
      const expect = expected === '' ? {} : { expect: { outcome: expected } };
      const { body } = await call('POST /config/bisect', { body: { request, ...expect } });
      setFound(body.data);
      setError(undefined);
    } catch (cause) {
      setFound(undefined);
      setError(cause as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className={styles['stack']}>
      <Panel>
        <form className={styles['stack']} onSubmit={(event) => void find(event)}>
          <p className={styles['soft']}>{historyWords.bisectText}</p>
          <div className={styles['filters']}>
            <SelectField label={historyWords.method} value={method} choices={METHODS} onValue={setMethod} />
            <TextField
              label={historyWords.url}
              hint={historyWords.urlHint}
              value={url}
              onValue={setUrl}
              required
              isMono
            />
            <TextField
              label={historyWords.token}
              hint={historyWords.tokenHint}
              value={token}
              onValue={setToken}
              isMono
            />
            <SelectField<Expected>
              label={historyWords.expected}
              value={expected}
              choices={EXPECTED}
              onValue={setExpected}
            />
          </div>
          {error !== undefined && <ErrorNote error={error} />}
          <div>
            <Button look="main" type="submit" isBusy={isBusy} disabled={url.trim() === ''}>
              {historyWords.find}
            </Button>
          </div>
        </form>
      </Panel>
      <div role="status">{found !== undefined && <Found result={found} />}</div>
    </div>
  );
}

function Found({ result }: { readonly result: ConfigBisectResult }): ReactNode {
  const { config_version: version, before, after, tried, changes } = result;
  const names = useActorNames();
  if (version === null) {
    return (
      <Note tone="neutral">
        {historyWords.unchanged} {historyWords.tried(tried)}
      </Note>
    );
  }
  return (
    <Panel title={historyWords.changedAt(version)}>
      <div className={styles['stack']}>
        <KeyValues
          rows={[
            ...(result.at === null ? [] : [row(historyWords.fields.at, <Time at={result.at} />)]),
            row(
              historyWords.fields.actor,
              result.actor === null ? null : (names.nameOf(result.actor) ?? result.actor),
            ),
            ...(result.source === null
              ? []
              : [row(historyWords.fields.source, <SourceBadge source={result.source} />)]),
            row(historyWords.fields.what, actionSentence(result)),
            ...(result.message === null ? [] : [row(historyWords.fields.message, result.message)]),
            ...changes.map((change) =>
              row(
                historyWords.responsible,
                historyWords.changeOf(
                  `${change.type} ${change.name}`,
                  historyWords.changes[change.change],
                  change.fields.join(', '),
                ),
              ),
            ),
          ]}
        />
        <Columns>
          {before !== null && <Outcome title={historyWords.answerBefore} of={before} />}
          <Outcome title={historyWords.answerAfter} of={after} />
        </Columns>
        <p className={styles['soft']}>
          <Link to="/history/$version" params={{ version: String(version) }}>
            {historyWords.openVersion}
          </Link>
          . {historyWords.tried(tried)}
        </p>
      </div>
    </Panel>
  );
}

function Outcome({ title, of }: { readonly title: string; readonly of: VersionOutcome }): ReactNode {
  return (
    <Panel title={title}>
      <KeyValues
        rows={[
          row(historyWords.outcome, of.outcome),
          row(historyWords.status, of.status ?? historyWords.statusOfBackend),
          ...(of.code === null ? [] : [row(historyWords.code, <code>{of.code}</code>)]),
          ...(of.stage === null ? [] : [row(historyWords.stage, of.stage)]),
          ...(of.detail === null ? [] : [row(historyWords.detail, of.detail)]),
          ...(of.upstream_url === null ? [] : [row(historyWords.upstream, <code>{of.upstream_url}</code>)]),
        ]}
      />
    </Panel>
  );
}

function actionSentence({ action, changes: [first] }: ConfigBisectResult): string {
  return actionText(action ?? '', first === undefined ? [] : [...Object.values(first.parents), first.name]);
}
