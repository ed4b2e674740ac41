/** The audit entries of an apply or a rollback: one for each changed record. */
import type { ConfigWriter } from '../../storage/repository.ts';
import { maskRecord } from '../write/policy-secrets-view.ts';
import { auditEntry, type WriteOrigin } from '../write/write.ts';
import type { DeclaredChange, DeclaredChanges } from './declared-changes.ts';

/** Maximum number of endpoints with separate audit entries; beyond it, one entry has the sum. */
const AUDITED_ENDPOINTS_MAX = 1_000;

/** Each change with the names of its record, like a write of that resource alone. */
export async function auditChanges(
  { changes }: DeclaredChanges,
  writer: ConfigWriter,
  origin: WriteOrigin,
  nowMs: number,
): Promise<void> {
  const NAMES = ['app', 'version', 'revision'];
  let endpoints = 0;
  for (const { change, type, path, record, after, below, keys } of changes) {
    if (type === 'endpoint' && ++endpoints > AUDITED_ENDPOINTS_MAX) continue;
    const resourceType = type === 'key' ? 'token' : type;
    const parents = Object.fromEntries(path.slice(0, -1).map((label, index) => [NAMES[index] ?? '', label]));
    const note = {
      action: `${resourceType}.${change}`,
      resourceType,
      resourceId: record.id,
      resourceName: path.at(-1) ?? null,
      parents,
      change: after === undefined ? removalOf(below, keys) : maskRecord(after),
    };
    await writer.appendAudit(auditEntry(origin, note, nowMs));
  }
}

/** What was deleted with a record; null when nothing was. */
function removalOf(
  below: number,
  keys: DeclaredChange['keys'] = [],
): Readonly<Record<string, unknown>> | null {
  if (below === 0) return null;
  return { cascade: true, below, ...(keys.length > 0 && { keys }) };
}
