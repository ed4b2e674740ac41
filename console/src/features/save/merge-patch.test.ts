import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergePatch } from '../../../../src/management/api/merge-patch.ts';
import {
  applyPatch,
  inversePatch,
  isSame,
  leavesOf,
  mergePatchOf,
  withValueAt,
  valueAt,
  type Fields,
} from './merge-patch.ts';

const name = fc.oneof(fc.constantFrom('a', 'b', 'c', 'rate_limit', '__proto__', 'constructor'), fc.string());
const scalar = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.constantFrom('********', ''));
/** Documents without null, as policies are once what inherits is left out. */
const { fields } = fc.letrec<{ value: unknown; fields: Fields }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, scalar, fc.array(scalar, { maxLength: 3 }), tie('fields')),
  fields: fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
}));

describe('mergePatchOf', () => {
  it('makes the edited document of the other, also as the gateway applies it', () => {
    fc.assert(
      fc.property(fields, fields, (before, after) => {
        const patch = mergePatchOf(before, after);
        expect(isDeepStrictEqual(applyPatch(before, patch), after)).toBe(true);
        // What is sent is JSON.
        const received: unknown = JSON.parse(JSON.stringify(patch));
        expect(isSame(mergePatch(before, received), after) || hasProto(before, after)).toBe(true);
      }),
    );
  });

  it('says nothing where nothing changed, and says no more than what changed', () => {
    fc.assert(
      fc.property(fields, fields, (before, after) => {
        expect(mergePatchOf(before, before)).toEqual({});
        for (const { path, value } of leavesOf(mergePatchOf(before, after)))
          expect(isSame(valueAt(before, path), value)).toBe(false);
      }),
    );
  });

  it('removes with null, and replaces lists whole', () => {
    expect(mergePatchOf({ a: { x: 1, y: [1] }, b: 2 }, { a: { x: 1, y: [1, 2] } })).toEqual({
      a: { y: [1, 2] },
      b: null,
    });
  });
});

describe('inversePatch', () => {
  it('undoes a patch', () => {
    fc.assert(
      fc.property(fields, fields, (before, after) => {
        const patch = mergePatchOf(before, after);
        const back = inversePatch(before, patch);
        expect(isDeepStrictEqual(applyPatch(applyPatch(before, patch), back), before)).toBe(true);
      }),
    );
  });
});

describe('withValueAt', () => {
  it('changes one place, and leaves the order of the others', () => {
    const fields = { a: 1, b: { c: 2, d: 3 }, e: 4 };
    expect(JSON.stringify(withValueAt(fields, ['b', 'c'], 5))).toBe('{"a":1,"b":{"c":5,"d":3},"e":4}');
    expect(withValueAt(fields, ['b', 'c'], undefined)).toEqual({ a: 1, b: { d: 3 }, e: 4 });
    expect(withValueAt({}, ['x', 'y'], 1)).toEqual({ x: { y: 1 } });
    expect(fields.b.c).toBe(2);
  });
});

/** The gateway reads its bodies with a parser of its own, which refuses such a name. */
function hasProto(...documents: readonly Fields[]): boolean {
  return documents.some((document) => JSON.stringify(document).includes('"__proto__"'));
}
