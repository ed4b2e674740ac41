import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openConnection } from './sqlite-connection.ts';

test('a connection waits for the disk at each commit, and additional pragmas take precedence', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-connection-'));
  try {
    const db = openConnection(join(folder, 'x.db'), 'busy_timeout = 7');
    const value = (pragma: string): unknown => Object.values(db.prepare(`pragma ${pragma}`).get() ?? {})[0];
    expect({
      journal_mode: value('journal_mode'),
      synchronous: value('synchronous'),
      foreign_keys: value('foreign_keys'),
      busy_timeout: value('busy_timeout'),
    }).toEqual({ journal_mode: 'wal', synchronous: 2, foreign_keys: 1, busy_timeout: 7 });
    db.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
