/** The created app: its names, its key, a test request, and where to go next. */
import { Link, type LinkProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { App, RateLimit, Revision, Version } from '../../api/schema.ts';
import { startWords, tryWords } from '../../text/start.ts';
import { Button } from '../../ui/controls/button.tsx';
import { CopyButton } from '../../ui/controls/copy-button.tsx';
import { KeyValues, row } from '../../ui/display/key-values.tsx';
import { Note } from '../../ui/display/notes.tsx';
import { PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { shownPlace } from '../apps/parts/shown-place.ts';
import { FIRST_REVISION, FIRST_VERSION } from './draft.ts';
import styles from './start.module.css';
import { TestRequest } from './test-request.tsx';
import { useTrafficOrigin } from './traffic-address.ts';

interface MadeAppProps {
  readonly app: App;
  readonly version: Version;
  readonly revision: Revision;
  /** The value of the key that was just created; empty: there is none, or it was shown before. */
  readonly keyValue: string;
  readonly onAnother: () => void;
}

export function MadeApp({ app, version, revision, keyValue, onAnother }: MadeAppProps): ReactNode {
  const { auth, rate_limit: limit } = app.default_policy ?? {};
  const callers = auth?.auth_type;
  const isKeyed = callers === 'api_key';
  const backend = backendText(revision);
  const origin = useTrafficOrigin();
  return (
    <>
      <PageHead
        title={tryWords.made(app.name)}
        summary={tryWords.madeSummary}
        actions={<Button onClick={onAnother}>{tryWords.nextLinks.another[0]}</Button>}
      />
      <Stack>
        {keyValue !== '' && <KeyPanel value={keyValue} />}
        <Panel>
          <KeyValues
            rows={[
              [tryWords.callAt, <code key="path">{`${origin}${version.gateway_path}/`}</code>],
              [tryWords.backend, <code key="backend">{backend}</code>],
              ...(callers === 'api_key' || callers === 'none'
                ? [[tryWords.callers, startWords.callerChoices[callers]] as const]
                : []),
              ...(limit === undefined || limit === null ? [] : [row(tryWords.limit, limitText(limit))]),
            ]}
          />
        </Panel>
        <TestRequest
          path={`${version.gateway_path}/`}
          isKeyed={isKeyed}
          keyValue={keyValue}
          backend={backend}
          revision={{ app: app.slug, version: version.version, revision: revision.revision }}
        />
        <NextSteps slug={app.slug} path={`${version.gateway_path}/`} />
      </Stack>
    </>
  );
}

function KeyPanel({ value }: { readonly value: string }): ReactNode {
  return (
    <Panel title={tryWords.key} actions={<CopyButton text={value} />}>
      <div className={styles['form']}>
        <code className={styles['key']}>{value}</code>
        <Note tone="warn">{tryWords.keyOnce}</Note>
      </div>
    </Panel>
  );
}

function limitText({ enabled, requests, window_seconds: seconds, per }: RateLimit): string {
  if (enabled === false) return tryWords.noLimit;
  if (typeof requests !== 'number') return tryWords.limitElsewhere;
  return tryWords.limitOf(requests, seconds ?? 0, per ?? 'scope');
}

/** As typed: with the port and path that are not the defaults of the scheme. */
function backendText(revision: Revision): string {
  const {
    backend_scheme: scheme,
    backend_host: host,
    backend_port: port,
    backend_base_path: base,
  } = revision;
  const isUsual = port === (scheme === 'https' ? 443 : 80);
  return `${scheme}://${shownPlace(host, isUsual ? undefined : port)}${base === '/' ? '' : base}`;
}

interface NextStepsProps {
  readonly slug: string;
  /** The path that clients call. */
  readonly path: string;
}

function NextSteps({ slug, path }: NextStepsProps): ReactNode {
  const { app, keys, targets, canary, hosts, https, live, explain, import: imported } = tryWords.nextLinks;
  const ofApp = `/apps/${slug}`;
  return (
    <Panel title={tryWords.next}>
      <ul className={styles['next']}>
        <li>
          <Link to="/apps/$app" params={{ app: slug }}>
            {app[0]}
          </Link>
          <span>{app[1]}</span>
        </li>
        {(
          [
            ['/keys', { app: slug }, keys],
            [`${ofApp}/versions/${FIRST_VERSION}/revisions/${FIRST_REVISION}`, { tab: 'edit' }, targets],
            [`${ofApp}/versions/${FIRST_VERSION}`, {}, canary],
            [ofApp, { tab: 'edit' }, hosts],
            ['/settings', { q: 'tls' }, https],
            ['/live', { app: slug }, live],
            ['/explain', { method: 'GET', url: path }, explain],
            ['/import', {}, imported],
          ] as const
        ).map(([to, search, [label, text]]) => (
          <li key={label}>
            <Link {...({ to, search } as LinkProps)}>{label}</Link>
            <span>{text}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
