/**
 * The policy part `shadow`: the other parts that are evaluated, counted and logged, and not obeyed. Made by the
 * registry, which knows their names; the compiler and the parts read it.
 */
import { Type } from 'typebox';
import { oneOf } from '../../../model/schema-pieces.ts';
import { definePart, type PolicyPart, type WarningRule } from '../../part.ts';
import { shadowDocs } from './docs.ts';

/** @param parts those that may run in shadow */
export function shadowPart<Name extends string>(parts: readonly PolicyPart<Name>[]) {
  const names = parts.map(({ name }) => name);
  return definePart({
    name: 'shadow',
    schema: Type.Unsafe<Name[]>(
      Type.Array(oneOf(names), {
        uniqueItems: true,
        description: 'Parts that are evaluated, counted and logged, and let every request pass.',
      }),
    ),
    docs: shadowDocs(parts),
    off: { example: [], is: (shadow) => shadow.length === 0 },
    mayShadow: false,
    warnings: [shadowOfNothing(parts)],
    compile: () => undefined,
  });
}

/** Checked for endpoints only: a part that is in shadow for an app may be set at any level below. */
function shadowOfNothing(parts: readonly PolicyPart[]): WarningRule<readonly string[]> {
  return {
    code: 'shadow_part_not_set',
    title: '`shadow` names a part that no level sets: it has no effect',
    advice: 'Set the part, or correct its name',
    find: (shadow, { effective: { policy }, endpoint, isOwn, pointer }, { policyGlobals }) => {
      if (endpoint === undefined || !isOwn) return [];
      return shadow.flatMap((name, index) => {
        const part = parts.find((each) => each.name === name);
        if (policy[name] !== undefined || part?.isImplied?.(policy, policyGlobals) === true) return [];
        const what = `Neither the endpoint nor a level above it has "${name}"`;
        return [{ pointer: `${pointer}/${index}`, what }];
      });
    },
  };
}
