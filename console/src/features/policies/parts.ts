/** The parts that a policy shows, and the list of those in shadow mode. Pure. */
import { variantsOf, type JsonSchema } from '../../ui/editor/json-schema.ts';
import { isSame, type Fields } from '../save/merge-patch.ts';

/** All parts that the gateway knows, and any others that are set: nothing that is stored is hidden. */
export function partNames(
  schema: JsonSchema,
  value: Fields,
  inherited: Readonly<Record<string, unknown>>,
): string[] {
  const known = variantsOf(schema).flatMap(({ properties }) => Object.keys(properties ?? {}));
  return [...new Set([...known, ...Object.keys(inherited), ...Object.keys(value)])];
}

/** The parts that are only tried: the list of this level, else the inherited one. */
export function shadowList(own: unknown, inherited: unknown): readonly string[] {
  const list = own ?? inherited;
  return Array.isArray(list) ? list.map(String) : [];
}

/** The list of this level after a switch; undefined where that of the wider level says the same. */
export function shadowAfter(
  own: unknown,
  inherited: unknown,
  part: string,
  isOn: boolean,
): readonly string[] | undefined {
  const others = shadowList(own, inherited).filter((name) => name !== part);
  const next = isOn ? [...others, part] : others;
  const wider = shadowList(undefined, inherited);
  return isSame([...next].sort(), [...wider].sort()) ? undefined : next;
}
