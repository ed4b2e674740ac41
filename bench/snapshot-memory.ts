/**
 * How much memory the compiled configuration takes in one worker: a process of its own applies a configuration to a
 * snapshot holder, lets go of the records, collects garbage and tells what is left. As a program it is that process.
 */
import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import type { ConfigChange } from '../src/model/config.ts';
import type { StoredApiKey } from '../src/model/resources.ts';
import { SnapshotHolder } from '../src/config/holder.ts';
import { KeyTable } from '../src/keys/key-table.ts';
import { fillerKeys, fillerRecords, type Filler } from './database.ts';
import { compilerFor } from './policies.ts';

const BATCH_KEYS = 2_000;

/** Bytes that the configuration without its keys takes, on the heap and in buffers. */
export async function snapshotBytes(filler: Filler): Promise<number> {
  const output = execFileSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--expose-gc', import.meta.filename, JSON.stringify(filler)],
    { encoding: 'utf8' },
  );
  return Number(output);
}

/** Bytes of the shared table of API keys: the same whatever the number of workers. */
export function keyTableBytes(filler: Filler): number {
  const table = new KeyTable();
  const appId = fillerRecords({ endpoints: 1 }, 80).apps[0]?.id ?? '';
  // In batches, as at a start (src/storage/sql/load.ts).
  let batch: StoredApiKey[] = [];
  for (const key of fillerKeys(filler, appId)) {
    batch.push(key);
    if (batch.length < BATCH_KEYS) continue;
    table.change(batch, []);
    batch = [];
  }
  table.change(batch, []);
  table.release(table.takeRetired());
  return table.bytes;
}

export function changeOf(filler: Filler): ConfigChange {
  const { apps, versions, revisions, endpoints } = fillerRecords(filler, 80);
  const endpointsOf = Map.groupBy(endpoints, (endpoint) => endpoint.revision_id);
  const revisionsOf = Map.groupBy(revisions, (revision) => revision.version_id);
  const versionsOf = Map.groupBy(versions, (version) => version.app_id);
  return {
    configVersion: 1,
    reset: true,
    apps: apps.map((app) => ({
      app,
      versions: (versionsOf.get(app.id) ?? []).map((version) => ({
        version,
        revisions: (revisionsOf.get(version.id) ?? []).map((revision) => ({
          revision,
          endpoints: endpointsOf.get(revision.id) ?? [],
        })),
      })),
    })),
    removedAppIds: [],
    versions: [],
    removedVersionIds: [],
    keys: [],
    removedKeyIds: [],
  };
}

/** A function of its own, so that no frame that is still alive holds on to the records. */
function applyClone<P>(holder: SnapshotHolder<P>, filler: Filler): void {
  holder.apply(structuredClone(changeOf(filler)));
}

function usedBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function measure(filler: Filler): number {
  const keys = new KeyTable();
  const holder = new SnapshotHolder(compilerFor(keys), keys);
  const before = usedBytes();
  // Through a structured clone, as from the main thread: a worker shares no strings with the records of others.
  applyClone(holder, filler);
  const after = usedBytes();
  if (holder.current.configVersion !== 1) throw new Error('the configuration was not taken over');
  return after - before;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  process.stdout.write(String(measure(JSON.parse(process.argv[2] ?? '{}') as Filler)));
}
