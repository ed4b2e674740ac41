/**
 * `copy_endpoints_from`: a new revision starts with the endpoints of another one, in the transaction that creates
 * it.
 */
import { timestamp, type Clock } from '../../../lib/clock.ts';
import { uuidv7 } from '../../../lib/ids.ts';
import { PAGE_LIMIT_MAX } from '../../schemas/common.ts';
import type { App, Revision, Version } from '../../../model/resources.ts';
import type { ConfigReader, ConfigWriter } from '../../../storage/repository.ts';
import { invalid, type Failure } from '../../api/failure.ts';

interface Scope {
  readonly app: App;
  readonly version: Version;
}

/** @param from label or id of a revision of the same version, or `version/revision` */
export async function copyEndpoints(
  writer: ConfigWriter,
  scope: Scope,
  from: string,
  revision: Revision,
  clock: Clock,
): Promise<Failure | undefined> {
  const source = await findSource(writer, scope, from);
  if (source === undefined || source.id === revision.id) {
    const detail = `must be another revision of the version "${scope.version.version}", or "version/revision"; "${from}" does not exist`;
    return invalid([{ pointer: '/copy_endpoints_from', detail }]);
  }
  let after: string | undefined;
  do {
    const page = await writer.listEndpoints(source.id, { limit: PAGE_LIMIT_MAX, after });
    const nowMs = clock.nowMs();
    const now = timestamp(nowMs);
    await writer.insertEndpoints(
      page.items.map((endpoint) => ({
        ...endpoint,
        id: uuidv7(nowMs),
        created_at: now,
        updated_at: now,
        revision_id: revision.id,
      })),
    );
    after = page.nextAfter ?? undefined;
  } while (after !== undefined);
  return undefined;
}

async function findSource(
  reader: ConfigReader,
  { app, version }: Scope,
  from: string,
): Promise<Revision | undefined> {
  const slash = from.indexOf('/');
  if (slash < 0) return reader.findRevision(version.id, from);
  const other = await reader.findVersion(app.id, from.slice(0, slash));
  return other && reader.findRevision(other.id, from.slice(slash + 1));
}
