/** Shared by the table of the audit log and the details of an entry. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { AuditEntry } from '../../api/schema.ts';
import { actionText } from '../../text/actions.ts';

/** With the names of the records above it, from the app down. */
export function recordOf(entry: AuditEntry): string {
  return pathOf(entry).join(' / ');
}

/** The action, as a sentence. */
export function actionSentence(entry: AuditEntry): string {
  return actionText(entry.action, pathOf(entry));
}

function pathOf({ resource_name: name, parents }: AuditEntry): readonly string[] {
  return [...Object.values(parents ?? {}), name ?? ''].filter((part) => part !== '');
}

export function VersionLink({ of: entry }: { readonly of: AuditEntry }): ReactNode {
  const version = entry.config_version;
  return (
    <Link to="/history/$version" params={{ version: String(version) }}>
      {version}
    </Link>
  );
}
