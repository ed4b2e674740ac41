/** What the table of the audit log and the details of an entry share. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { AuditEntry } from '../../api/schema.ts';

/** With the names of what it is in, from the app down. */
export function recordOf({ resource_name: name, parents }: AuditEntry): string {
  return [...Object.values(parents ?? {}), name ?? ''].filter((part) => part !== '').join(' / ');
}

export function VersionLink({ of: entry }: { readonly of: AuditEntry }): ReactNode {
  const version = entry.config_version;
  return (
    <Link to="/history/$version" params={{ version: String(version) }}>
      {version}
    </Link>
  );
}
