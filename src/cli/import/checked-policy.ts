/**
 * Reduces a policy to what the gateway accepts: leaves out and reports what its rules refuse, so that a single
 * unsupported value does not prevent the import of a whole document.
 */
import { isObject } from '../../lib/is-object.ts';
import { tokensOf } from '../../lib/text/json-pointer.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import { validate } from '../../management/api/validate.ts';
import { validatePolicy } from '../../policy/policy-rules.ts';
import { PARTS, PolicySchema } from '../../policy/registry.ts';
import type { Item } from './imported-route.ts';
import type { SourceNode } from './source.ts';

const SCHEMA = jsonSchema(PolicySchema);
/** Limit of rounds; each leaves something out. */
const ROUNDS_MAX = 200;

export interface CheckedPolicy {
  readonly parts: Item;
  /** A part that keeps requests out had to be left out. */
  readonly isWeaker: boolean;
}

/** @param node the source of the policy, for the report */
export function checkedPolicy(parts: Item, node: SourceNode): CheckedPolicy {
  let checked = parts;
  let isWeaker = false;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const wrong = validate(SCHEMA, checked);
    const [error] = wrong.length > 0 ? wrong : validatePolicy(checked, { globals: undefined }, '');
    if (error === undefined) return { parts: checked, isWeaker };
    const tokens = tokensOf(error.pointer);
    const [part = ''] = tokens;
    const { entryDepth = 0, isProtective = false } = PARTS.find(({ name }) => name === part) ?? {};
    const edit = [part, ...tokens.slice(1, 1 + entryDepth)];
    node.lost(`has a value that \`${edit.join('.')}\` cannot have: it ${error.detail}`);
    isWeaker ||= isProtective;
    checked = without(checked, edit) as Item;
  }
  return { parts: {}, isWeaker: true };
}

function without(value: unknown, [first, ...rest]: readonly string[]): unknown {
  if (first === undefined) return undefined;
  if (Array.isArray(value)) return value.filter((_item, index) => String(index) !== first);
  if (!isObject(value)) return undefined;
  if (rest.length === 0) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== first));
  return { ...value, [first]: without(value[first], rest) };
}
