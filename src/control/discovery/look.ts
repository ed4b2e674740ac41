/** The result of one look-up of a source of targets, for every kind of source. */
import { addressForms, blockList } from '../../egress/blocks.ts';
import type { FoundTarget } from '../../model/resources.ts';

/** Limit of the reasons that one look-up reports. */
const NOTES_MAX = 8;

/** Multicast, broadcast and the unspecified address: a connection to them reaches no host, or this one. */
const isNoHost = blockList(['224.0.0.0/4', '255.255.255.255/32', '0.0.0.0/32', 'ff00::/8', '::/128']);

export type Look =
  | {
      readonly kind: 'found';
      /** Not empty. */
      readonly targets: readonly FoundTarget[];
      /** When to look again; undefined: at the interval of the kind of source. */
      readonly againMs?: number;
      /** For people: what is not used, and why. */
      readonly notes: readonly string[];
      /** The number of targets that were not resolved, because there are too many. */
      readonly leftOut?: number;
    }
  /** The file is being written. */
  | { readonly kind: 'unsettled'; readonly againMs: number }
  | { readonly kind: 'failed'; readonly error: string };

/** @param denialOf returns why the gateway must not connect to a target */
export function permitted(
  found: readonly FoundTarget[],
  denialOf: (target: FoundTarget) => string | undefined,
  notes: readonly string[],
  againMs?: number,
): Look {
  const targets: FoundTarget[] = [];
  const refusals: string[] = [];
  for (const target of found) {
    const denial = noHostText(target) ?? denialOf(target);
    if (denial === undefined) targets.push(target);
    else refusals.push(denial);
  }
  const [first] = refusals;
  if (targets.length === 0)
    return {
      kind: 'failed',
      error: first === undefined ? 'there are no targets' : `no target is permitted: ${first}`,
    };
  const all = [...notes, ...refusals.map((denial) => `not used: ${denial}`)];
  const more = all.length - NOTES_MAX;
  const shown = more > 0 ? [...all.slice(0, NOTES_MAX), `and ${more} more`] : all;
  return { kind: 'found', targets, notes: shown, ...(againMs !== undefined && { againMs }) };
}

function noHostText({ host }: FoundTarget): string | undefined {
  return addressForms(host).some(isNoHost) ? `${host} is not the address of a single host` : undefined;
}
