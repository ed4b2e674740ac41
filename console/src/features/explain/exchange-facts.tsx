/** Request, response, what the backend got, limits and candidates of an explained request. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ExplainedCandidate, ExplainedLimit, Explanation, HeaderField } from '../../api/schema.ts';
import { explainWords } from '../../text/explain.ts';
import { Badge, statusTone } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { KeyValues } from '../../ui/display/key-values.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { formatNumber, formatSecs, formatShare, Time } from '../../ui/display/time.tsx';
import { CopyButton } from '../../ui/controls/copy-button.tsx';
import styles from './explain.module.css';

interface FactsProps {
  readonly explanation: Explanation;
}

export function RequestFacts({ explanation }: FactsProps): ReactNode {
  const { request, app, version, revision, endpoint, caller, certificate } = explanation;
  const { request_id: id, recorded_at: at } = explanation;
  const rows: (readonly [string, ReactNode])[] = [
    [
      explainWords.request,
      <code key="r">{`${request.method} ${request.host}${request.path ?? ''}${request.query ?? ''}`}</code>,
    ],
    [explainWords.client, <code key="c">{request.client_ip}</code>],
    [explainWords.app, app === null ? explainWords.noMatch : <AppLink key="a" slug={app.slug} />],
    [
      explainWords.version,
      version === null
        ? explainWords.noMatch
        : `${version.version}${revision === null ? '' : `, ${revision.revision}`}`,
    ],
    [
      explainWords.endpoint,
      endpoint === null ? explainWords.noMatch : <code key="e">{`${endpoint.method} ${endpoint.path}`}</code>,
    ],
    [explainWords.caller, <Caller key="w" explanation={explanation} />],
  ];
  if (caller !== null && caller.scopes.length > 0) rows.push([explainWords.scopes, caller.scopes.join(', ')]);
  if (certificate !== undefined) {
    const { subject, fingerprint, ca } = certificate;
    rows.push([
      explainWords.certificate,
      <code key="x">{`${subject === '' ? fingerprint : subject} (${ca})`}</code>,
    ]);
  }
  const parameters = Object.entries(endpoint?.parameters ?? {});
  if (parameters.length > 0)
    rows.push([explainWords.parameters, parameters.map(([name, value]) => `${name} = ${value}`).join(', ')]);
  if (at !== null) rows.push([explainWords.recordedAt, <Time key="t" at={at} />]);
  rows.push([explainWords.configVersion, String(explanation.config_version)]);
  if (id !== null) {
    rows.push([
      explainWords.requestId,
      <span key="i" className={styles['id']}>
        <code>{id}</code> <CopyButton text={id} />
      </span>,
    ]);
  }
  const { trace_id: trace, trace_url: traceUrl } = explanation;
  if (trace !== undefined) {
    rows.push([
      explainWords.trace,
      <span key="o" className={styles['id']}>
        {traceUrl === undefined ? (
          <code>{trace}</code>
        ) : (
          <a href={traceUrl} target="_blank" rel="noopener noreferrer">
            <code>{trace}</code>
          </a>
        )}{' '}
        <CopyButton text={trace} />
      </span>,
    ]);
  }
  return (
    <Panel title={explainWords.facts}>
      <KeyValues rows={rows} />
      <Headers fields={request.headers} />
    </Panel>
  );
}

function AppLink({ slug }: { readonly slug: string }): ReactNode {
  return (
    <Link to="/apps/$app" params={{ app: slug }}>
      {slug}
    </Link>
  );
}

function Caller({ explanation: { caller, app } }: FactsProps): ReactNode {
  if (caller === null) return explainWords.noMatch;
  if (caller.kind === 'anonymous') return explainWords.anonymous;
  if (caller.kind !== 'api_key' || app === null) return caller.name;
  return (
    <Link to="/apps/$app/keys/$key" params={{ app: app.slug, key: caller.id }}>
      {caller.name}
    </Link>
  );
}

export function AnswerFacts({ explanation: { response, request_id: id } }: FactsProps): ReactNode {
  const { status, headers, body } = response;
  return (
    <Panel title={explainWords.answer}>
      <div className={styles['facts']}>
        <div>
          {status === null ? explainWords.statusOfBackend : <Badge tone={statusTone(status)}>{status}</Badge>}
        </div>
        {id !== null && headers.length === 0 && <p className={styles['soft']}>{explainWords.notRecorded}</p>}
        <Headers fields={headers} />
        {body !== null && body !== undefined && (
          <pre className={styles['text']} tabIndex={0}>
            {JSON.stringify(body, undefined, 2)}
          </pre>
        )}
      </div>
    </Panel>
  );
}

export function UpstreamFacts({ explanation: { upstream, request_id: id } }: FactsProps): ReactNode {
  if (upstream === null) return null;
  return (
    <Panel title={explainWords.upstream}>
      <div className={styles['facts']}>
        <code className={styles['value']}>{`${upstream.method} ${upstream.url}`}</code>
        {id !== null && upstream.headers.length === 0 && (
          <p className={styles['soft']}>{explainWords.notRecorded}</p>
        )}
        <Headers fields={upstream.headers} />
      </div>
    </Panel>
  );
}

export function Headers({ fields }: { readonly fields: readonly HeaderField[] }): ReactNode {
  if (fields.length === 0) return null;
  return (
    <details className={styles['headers']}>
      <summary>
        {explainWords.headerFields} ({fields.length})
      </summary>
      <pre className={styles['text']} tabIndex={0}>
        {fields.map(({ name, value }) => `${name}: ${value}`).join('\n')}
      </pre>
    </details>
  );
}

const LIMITS: readonly Column<ExplainedLimit>[] = [
  { head: explainWords.limit, cell: ({ kind }) => kind, isRowHead: true },
  { head: explainWords.counts, cell: ({ counter }) => counter },
  { head: explainWords.allows, cell: ({ limit }) => formatNumber(limit), isNumber: true },
  {
    head: explainWords.left,
    cell: ({ remaining, admitted }) => (
      <Badge tone={admitted ? 'good' : 'bad'}>{formatNumber(remaining)}</Badge>
    ),
    isNumber: true,
  },
  {
    head: explainWords.full,
    cell: ({ reset_secs: secs }) => (secs === null ? '' : formatSecs(secs)),
    isNumber: true,
  },
];

export function Limits({ limits }: { readonly limits: readonly ExplainedLimit[] }): ReactNode {
  if (limits.length === 0) return null;
  return (
    <Panel title={explainWords.limits} isFlush>
      <DataTable
        caption={explainWords.limitsTable}
        columns={LIMITS}
        rows={limits}
        keyOf={({ kind, counter }) => kind + counter}
      />
    </Panel>
  );
}

const CANDIDATES: readonly Column<ExplainedCandidate>[] = [
  {
    head: explainWords.revision,
    cell: ({ revision, chosen }) => (
      <>
        {revision} {chosen && <Badge tone="accent">{explainWords.chosen}</Badge>}
      </>
    ),
    isRowHead: true,
  },
  { head: explainWords.share, cell: ({ share }) => formatShare(share), isNumber: true },
  { head: explainWords.breaker, cell: ({ breaker }) => breaker },
  { head: explainWords.why, cell: ({ reason }) => reason },
];

export function Candidates({
  candidates,
}: {
  readonly candidates: readonly ExplainedCandidate[];
}): ReactNode {
  if (candidates.length === 0) return null;
  return (
    <Panel title={explainWords.candidates} isFlush>
      <DataTable
        caption={explainWords.candidatesTable}
        columns={CANDIDATES}
        rows={candidates}
        keyOf={({ id }) => id}
      />
    </Panel>
  );
}
