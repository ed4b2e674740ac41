/**
 * A process that writes apps into a SQLite database until it is killed or the database refuses, for the tests of
 * durability. Arguments: path, and a prefix for ids. It prints one JSON line for each acknowledged write, and one
 * with the error when a write is refused.
 */
import { writeSync } from 'node:fs';
import { SECRET_PLACES } from '../../../src/policy/secret-places.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { openSqlite } from '../../../src/storage/sqlite/sqlite.ts';
import { makeApp, makeAudit, makeVersion, touched } from '../../contract/records.ts';

const [path = '', prefix = ''] = process.argv.slice(2);
const say = (line: unknown): void => {
  // Synchronous: a line that was printed is one that the test reads, whatever happens next.
  writeSync(1, `${JSON.stringify(line)}\n`);
};

const repository = await openSqlite({
  secretPlaces: SECRET_PLACES,
  path,
  autoMigrate: true,
  clock: systemClock,
});
try {
  for (let round = 0; ; round += 1) {
    const app = makeApp({
      id: `${prefix}-${round}`,
      slug: `${prefix}-${round}`,
      gateway_path: `/${prefix}-${round}`,
      description: 'x'.repeat(2_000),
    });
    const { configVersion } = await repository.write(async (writer) => {
      await writer.insertApp(app);
      await writer.insertVersion(
        makeVersion(app, { id: `${app.id}-v`, gateway_path: `${app.gateway_path}/v` }),
      );
      await writer.appendAudit(makeAudit({ id: `${app.id}-audit`, resource_id: app.id }));
      return { value: 0, touched: touched({ appIds: [app.id] }) };
    });
    say({ acknowledged: app.id, configVersion });
  }
} catch (error) {
  const everything = await repository.loadAll();
  say({ error: String(error), apps: everything.apps.length, configVersion: everything.configVersion });
}
await repository.close();
