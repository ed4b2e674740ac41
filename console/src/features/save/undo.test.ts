import { expect, it } from 'vitest';
import { undoOf } from './undo.ts';

const undo = (base: Record<string, unknown> | undefined, body: Record<string, unknown>) =>
  undoOf('PATCH /apps/{app_id}', { options: { path: { app_id: 'a' }, body }, base }, '"2"');

it('undoes a patch only on its own result', () => {
  expect(undo({ p: { limit: { n: 1 }, cors: 2 } }, { p: { limit: { n: 5 }, cors: null, new: 3 } })).toEqual({
    operation: 'PATCH /apps/{app_id}',
    options: {
      path: { app_id: 'a' },
      body: { p: { new: null, limit: { n: 1 }, cors: 2 } },
      ifMatch: '"2"',
    },
  });
  expect(undo({ description: null }, { description: 'x' })?.options.body).toEqual({ description: null });
});

it('offers nothing where what was before is not known', () => {
  expect(undo(undefined, { a: 1 })).toBeUndefined();
  expect(undo({ jwt: { secret: '********' } }, { jwt: { secret: 'new' } })).toBeUndefined();
  expect(undo({ jwt: { secret: '********', issuer: 'x' } }, { jwt: { issuer: 'y' } })).toBeDefined();
  expect(undoOf('DELETE /apps/{app_id}', undefined, undefined)).toBeUndefined();
});
