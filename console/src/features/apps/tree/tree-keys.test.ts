import { describe, expect, it } from 'vitest';
import type { App, Endpoint, TreeRevision, TreeVersion } from '../../../api/schema.ts';
import { RowsBuilder } from './tree-layout.ts';
import { TypeAhead, treeMove } from './tree-keys.ts';
import type { TreeRow } from './tree-store.ts';

const place = (depth: number, position = 1) => ({
  key: `${depth}.${position}`,
  depth,
  position,
  siblings: 9,
});
const path = { app: 'a' };

/** 0 app, 1 version, 2 revision, 3–5 endpoints, 6 closed revision, 7 closed app. */
const builder = new RowsBuilder<TreeRow>();
builder.row({ kind: 'app', ...place(0), isOpen: true, path, app: { name: 'Billing' } as App });
builder.row({ kind: 'version', ...place(1), isOpen: true, path, version: { version: 'v1' } as TreeVersion });
builder.row({
  kind: 'revision',
  ...place(2),
  isOpen: true,
  path,
  revision: { revision: 'r1' } as TreeRevision,
});
builder.run(3, (index) => {
  const endpoint = { method: 'GET', path: `/${index}` } as Endpoint;
  return { kind: 'endpoint', ...place(3, index + 1), path, endpoint, route: '' };
});
builder.row({
  kind: 'revision',
  ...place(2, 2),
  isOpen: false,
  path,
  revision: { revision: 'r2' } as TreeRevision,
});
builder.row({ kind: 'app', ...place(0, 2), isOpen: false, path, app: { name: 'Shop' } as App });
const rows = builder.build();

describe('treeMove', () => {
  it.each([
    ['ArrowDown', 0, 1],
    ['ArrowDown', 7, 7],
    ['ArrowUp', 0, 0],
    ['End', 2, 7],
    ['Home', 5, 0],
    ['PageDown', 1, 5],
    ['PageUp', 7, 3],
    ['ArrowRight', 0, 1],
    ['ArrowLeft', 5, 2],
    ['ArrowLeft', 3, 2],
    ['ArrowLeft', 6, 1],
  ])('%s on row %d goes to row %d', (key, from, to) => {
    expect(treeMove(rows, from, key, 4)).toEqual({ kind: 'go', to });
  });

  it.each([
    ['ArrowRight', 6, true],
    ['ArrowLeft', 2, false],
  ])('%s on row %d opens or closes it: %s', (key, from, isOpen) => {
    expect(treeMove(rows, from, key, 4)).toMatchObject({ kind: 'toggle', isOpen });
  });

  it('leaves other keys, and what is at the top, alone', () => {
    expect(treeMove(rows, 0, 'x', 4)).toBeUndefined();
    expect(treeMove(rows, 7, 'ArrowLeft', 4)).toBeUndefined();
    expect(treeMove(rows, 4, 'ArrowRight', 4)).toBeUndefined();
  });
});

it('finds rows by typing', () => {
  const typing = new TypeAhead();
  expect(typing.type(rows, 0, 's', 0)).toBe(7);
  expect(typing.type(rows, 7, 'r', 2_000)).toBe(2);
  expect(typing.type(rows, 2, 'r', 2_100)).toBe(6);
  expect(typing.type(rows, 6, '2', 2_200)).toBe(6);
  typing.end();
  expect(typing.type(rows, 6, 's', 2_300), 'after another key it begins again').toBe(7);
});
