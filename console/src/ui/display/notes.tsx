/** Messages in place of data: nothing yet, loading, an error, a remark. */
import type { ReactNode } from 'react';
import { ApiError, GatewayUnreachable } from '../../api/api-error.ts';
import { isOfOtherSession } from '../../api/call.ts';
import { words } from '../../text/words.ts';
import { Button } from '../controls/button.tsx';
import type { Tone } from './badge.tsx';
import styles from './notes.module.css';

interface EmptyStateProps {
  readonly title: string;
  /** The purpose and the next step, for a reader who sees it for the first time. */
  readonly children: ReactNode;
  readonly actions?: ReactNode;
}

export function EmptyState({ title, children, actions }: EmptyStateProps): ReactNode {
  return (
    <div className={styles['empty']}>
      <h2>{title}</h2>
      <div className={styles['soft']}>{children}</div>
      {actions !== undefined && <div className={styles['actions']}>{actions}</div>}
    </div>
  );
}

export function Loading(): ReactNode {
  return (
    <div className={styles['loading']} role="status">
      {words.loading}
    </div>
  );
}

export function Note({
  tone = 'info',
  children,
}: {
  readonly tone?: Tone;
  readonly children: ReactNode;
}): ReactNode {
  return <div className={`${styles['note']} ${styles[tone] ?? ''}`}>{children}</div>;
}

interface ErrorNoteProps {
  readonly error: Error;
  readonly onRetry?: (() => void) | undefined;
}

/** The API's own sentence, with the id under which the log has it. */
export function ErrorNote({ error, onRetry }: ErrorNoteProps): ReactNode {
  const isListed =
    error instanceof ApiError && error.fields.some(({ detail }) => !error.message.includes(detail));
  // The message repeats the first of several.
  const isRepeated = isListed && error.fields.some(({ detail }) => error.message.includes(detail));
  return (
    <div className={`${styles['note']} ${styles['bad']}`} role="alert">
      {!isRepeated && <div>{messageOf(error)}</div>}
      {isListed && (
        <ul className={styles['fields']}>
          {error.fields.map((field) => (
            <li key={field.pointer + field.detail}>
              <code>{field.pointer === '' ? '/' : field.pointer}</code> {field.detail}
            </li>
          ))}
        </ul>
      )}
      {error instanceof ApiError && error.requestId !== '' && (
        <div className={styles['id']}>{words.requestId(error.requestId)}</div>
      )}
      {onRetry !== undefined && (
        <Button isSmall onClick={onRetry}>
          {words.tryAgain}
        </Button>
      )}
    </div>
  );
}

function messageOf(error: Error): string {
  if (error instanceof GatewayUnreachable) return words.unreachable;
  if (isOfOtherSession(error)) return words.otherSession;
  return error instanceof ApiError ? error.message : words.unexpected(error.message);
}

interface LoadedProps<Data> {
  readonly query: {
    readonly data: Data | undefined;
    readonly error: Error | null;
    readonly refetch: () => unknown;
  };
  readonly children: (data: Data) => ReactNode;
}

/** Shows what a query has: its data, also while it is read again, else the error or that it loads. */
export function Loaded<Data>({ query, children }: LoadedProps<Data>): ReactNode {
  if (query.data !== undefined) return children(query.data);
  if (query.error !== null) return <ErrorNote error={query.error} onRetry={() => void query.refetch()} />;
  return <Loading />;
}
