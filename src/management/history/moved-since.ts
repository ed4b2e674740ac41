/** Whether the configuration is still the one that a plan was made for. */
import type { AuditEntry } from '../../model/resources.ts';
import type { ConfigReader } from '../../storage/repository.ts';
import { fail, type Failure } from '../api/failure.ts';

export interface PlannedOn {
  readonly base_version?: number;
  readonly rebase?: boolean;
}

/** 409 when the configuration has changed since the plan. */
export async function movedSince(
  reader: ConfigReader,
  version: number,
  { base_version: base, rebase = false }: PlannedOn,
  mayReadAudit: boolean,
): Promise<Failure | undefined> {
  if (base === undefined || base === version || rebase) return undefined;
  const moved = `The plan was made on config version ${base}, but ${version} is in force`;
  if (!mayReadAudit) return fail('conflict', moved);
  const { items } = await reader.listAudit({ limit: 20, after: undefined }, 'newest_first');
  const since = items.filter((entry) => entry.config_version > base).map(describe);
  const list = since.length === 0 ? '' : `; since then: ${since.join(', ')}`;
  return fail('conflict', moved + list);
}

function describe({ action, resource_name: name, actor, config_version: version }: AuditEntry): string {
  return `${action}${name === null ? '' : ` ${name}`} by ${actor} (${version})`;
}
