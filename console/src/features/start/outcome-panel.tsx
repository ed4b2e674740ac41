/** The outcome of a test request: the answer, its meaning, what to do, and the same with curl. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { TryOutcome } from '../../api/schema.ts';
import { tryWords } from '../../text/start.ts';
import { Badge, type Tone } from '../../ui/display/badge.tsx';
import { CopyButton } from '../../ui/controls/copy-button.tsx';
import { Note } from '../../ui/display/notes.tsx';
import { Panel, Stack } from '../../ui/display/panel.tsx';
import { formatMs } from '../../ui/display/time.tsx';
import { curlText, meaningOf, readableBody, type Meaning } from './meaning.ts';
import styles from './start.module.css';

export interface RevisionParams {
  readonly app: string;
  readonly version: string;
  readonly revision: string;
}

interface OutcomeProps {
  readonly outcome: TryOutcome;
  readonly sentWith: 'key' | 'nothing';
  /** Empty: none. */
  readonly sentKey: string;
  readonly isKeyed: boolean;
  readonly backend: string;
  readonly revision: RevisionParams;
}

const TONES: Readonly<Record<Meaning, Tone>> = {
  works: 'good',
  'refused as meant': 'good',
  refused: 'warn',
  'backend away': 'bad',
  'backend refuses': 'info',
  'no answer': 'bad',
};

export function OutcomePanel(props: OutcomeProps): ReactNode {
  const { outcome, sentWith, sentKey, isKeyed } = props;
  const meaning = meaningOf(outcome, isKeyed && sentWith === 'nothing');
  const title = !isKeyed ? tryWords.answered : sentWith === 'key' ? tryWords.withKey : tryWords.withoutKey;
  const curl = curlText(outcome.url, sentKey, window.location.hostname);
  return (
    <Panel
      title={title}
      actions={
        <>
          <Badge tone={TONES[meaning]}>{outcome.status ?? tryWords.noAnswer}</Badge>
          <span className={styles['soft']}>{tryWords.took(formatMs(outcome.duration_ms))}</span>
        </>
      }
    >
      <Stack>
        <Note tone={TONES[meaning]}>
          <MeaningText {...props} meaning={meaning} />
        </Note>
        <Answer outcome={outcome} />
        <details open>
          <summary>{tryWords.sameAsCurl}</summary>
          <pre className={styles['body']}>{curl}</pre>
          <CopyButton text={curl} />
        </details>
      </Stack>
    </Panel>
  );
}

function MeaningText({
  outcome,
  meaning,
  backend,
  revision,
}: OutcomeProps & { readonly meaning: Meaning }): ReactNode {
  const { status, problem, denial, request_id: id } = outcome;
  // For a test request the gateway returns the id of the request, not that of live traffic.
  const why = id !== null && (
    <Link to="/explain" search={{ request_id: id } as never}>
      {tryWords.why}
    </Link>
  );
  if (meaning === 'works') return tryWords.works;
  if (meaning === 'backend refuses') return tryWords.backendAnswer(status ?? 0);
  if (meaning === 'no answer') return `${tryWords.noAnswer}: ${problem ?? ''}`;
  if (meaning === 'backend away') {
    return (
      <>
        <strong>{tryWords.unreachable}</strong>
        <div>{denial?.detail}</div>
        <div>{tryWords.unreachableAdvice(backend)}</div>
        <Link to="/apps/$app/versions/$version/revisions/$revision" params={{ ...revision }}>
          {tryWords.correctBackend}
        </Link>
        {why}
      </>
    );
  }
  return (
    <>
      <strong>{meaning === 'refused as meant' ? tryWords.refusedAsMeant : tryWords.refusedBy}</strong>
      <div>{denial?.detail}</div>
      {meaning === 'refused' && denial?.fix !== null && denial?.fix !== denial?.detail && (
        <div>{denial?.fix}</div>
      )}
      {why}
    </>
  );
}

function Answer({ outcome }: { readonly outcome: TryOutcome }): ReactNode {
  const { headers, body, body_encoding: encoding, truncated } = outcome;
  return (
    <>
      <details>
        <summary>{tryWords.headers(headers.length)}</summary>
        <pre className={styles['body']}>{headers.map(([name, value]) => `${name}: ${value}`).join('\n')}</pre>
      </details>
      <div>
        <div className={styles['label']}>{tryWords.body}</div>
        {encoding === 'base64' && <p className={styles['soft']}>{tryWords.bytesBody}</p>}
        {body === '' ? (
          <p className={styles['soft']}>{tryWords.emptyBody}</p>
        ) : (
          <pre className={styles['body']} tabIndex={0} aria-label={tryWords.body}>
            {encoding === 'text' && !truncated ? readableBody(body) : body}
          </pre>
        )}
        {truncated && <p className={styles['soft']}>{tryWords.cutBody}</p>}
      </div>
    </>
  );
}
