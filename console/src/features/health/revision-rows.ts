/** The revisions of an app that get traffic, as rows: those that fail first. Pure. */
import type { TreeRevision, TreeVersion } from '../../api/schema.ts';

export interface RevisionRow {
  /** Label of its version. */
  readonly version: string;
  readonly revision: TreeRevision;
}

const RANK = { open: 0, half_open: 1, closed: 2 } as const;

export function revisionRows(versions: readonly TreeVersion[]): {
  readonly rows: readonly RevisionRow[];
  readonly idle: number;
} {
  const current = versions.flatMap(({ version, revisions }) =>
    revisions.filter((revision) => revision.is_current).map((revision) => ({ version, revision })),
  );
  const rank = ({ revision }: (typeof current)[number]): number => RANK[revision.breaker ?? 'closed'];
  const rows = current.toSorted((a, b) => rank(a) - rank(b));
  const total = versions.reduce((sum, version) => sum + version.revisions_total, 0);
  return { rows, idle: total - current.length };
}
