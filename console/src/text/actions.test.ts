/** Sentences for the actions of the audit log: none of the server's is without words. */
import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { actionText, KNOWN_ACTIONS } from './actions.ts';

it.each([
  ['app.update', ['shop'], 'Changed the app shop'],
  ['endpoint.delete', ['shop', 'v1', 'r1', 'GET /a'], 'Deleted the endpoint shop / v1 / r1 / GET /a'],
  ['token.rotate', ['shop', 'Partner'], 'Rotated the API key shop / Partner'],
  // Of the revisions below the version, the first is known.
  ['version.traffic', ['shop', 'v2', 'r1'], 'Split the traffic of the version shop / v2'],
  ['session.revoke', ['Dana'], 'Signed out Dana'],
  ['app.create', [], 'Created the app'],
  ['unheard.of', ['x'], 'unheard.of'],
])('%s of %j: %s', (action, path, sentence) => {
  expect(actionText(action, path)).toBe(sentence);
});

it('has words for each action that the gateway writes', () => {
  const sources = globSync(['src/management/**/*.ts', 'src/control/**/*.ts', 'src/storage/sql/*.ts']).filter(
    (file) => !file.endsWith('.test.ts'),
  );
  const written = sources.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\baction: '([a-z_]+\.[a-z_]+)'|auditNote\('([a-z_.]+)'/g)].map(
      ([, named, noted]) => named ?? noted ?? '',
    ),
  );
  expect(written.length).toBeGreaterThan(10);
  for (const action of [...written, ...KNOWN_ACTIONS]) {
    expect(actionText(action, ['shop']), action).not.toBe(action);
    expect(KNOWN_ACTIONS, action).toContain(action);
  }
});
