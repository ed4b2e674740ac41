/** The subject of an event, as a link to its page if it has one. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Event } from '../../api/schema.ts';
import { eventsWords } from '../../text/events.ts';
import { ResourceLink } from '../apps/parts/resource-link.tsx';
import styles from './events.module.css';

export function EventSubject({ event }: { readonly event: Event }): ReactNode {
  const { kind, name } = event.subject;
  return (
    <span className={styles['subject']}>
      <span className={styles['kind']}>{eventsWords.kinds[kind] ?? kind}</span>{' '}
      <Linked event={event}>{name}</Linked>
    </span>
  );
}

function Linked({ event, children }: { readonly event: Event; readonly children: ReactNode }): ReactNode {
  const { type, subject } = event;
  const data = event.data as Readonly<Record<string, unknown>>;
  const named = (field: string): string | undefined =>
    typeof data[field] === 'string' ? data[field] : undefined;
  const [app, version, revision] = [named('app'), named('version'), named('revision')];
  if (type === 'config.changed') {
    return (
      <Link to="/history/$version" params={{ version: String(data['config_version']) }}>
        {children}
      </Link>
    );
  }
  if (subject.kind === 'token' && app !== undefined) {
    return (
      <Link to="/apps/$app/keys/$key" params={{ app, key: subject.id }}>
        {children}
      </Link>
    );
  }
  if (app !== undefined && version !== undefined) {
    const path = revision === undefined ? { app, version } : { app, version, revision };
    return <ResourceLink path={path}>{children}</ResourceLink>;
  }
  if (subject.kind === 'node') return <Link to="/nodes">{children}</Link>;
  if (subject.kind === 'webhook') return <Link to="/webhooks">{children}</Link>;
  if (subject.kind === 'network') {
    return (
      <Link to="/audit" search={{ action: 'login.refused' } as never}>
        {children}
      </Link>
    );
  }
  return children;
}
