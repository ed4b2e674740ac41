/**
 * Which files for the verification of client certificates the configuration in force needs, and what gateways on one
 * database lack of them. Pure, except that the last result is kept until the configuration changes.
 */
import { trustedFilesOf } from '../../policy/records/parts-of-records.ts';
import type { PolicyValues } from '../../model/policy.ts';
import type { ConfigState } from '../cluster/config-state.ts';

/** By name of the trusted certificates: whether a policy requires revocation lists. */
export type TrustNeeds = ReadonlyMap<string, boolean>;

/** Digests of the files of one gateway, by name. */
export type TrustDigests = Readonly<
  Record<string, { readonly certificates: string; readonly lists: string | null }>
>;

export interface TrustOfGateway {
  readonly node: string;
  readonly files: TrustDigests;
}

export type TrustLack = { readonly name: string; readonly node: string } & (
  | { readonly what: 'certificates' | 'lists_required' | 'lists_of_others' }
  /** Its files differ from those of the first gateway by name that has any. */
  | { readonly what: 'same_files'; readonly other: string }
);

/** Returns a function that reads the needs of a configuration once. */
export function trustNeedsReader(state: ConfigState): () => TrustNeeds {
  let known: { readonly version: string; readonly needs: TrustNeeds } | undefined;
  return () => {
    const { configVersion, changeId } = state.position;
    const version = `${configVersion} ${changeId}`;
    if (known?.version !== version) known = { version, needs: readNeeds(state) };
    return known.needs;
  };
}

/** Also counts levels that a more specific level replaces, because their files are missing, too. */
function readNeeds(state: ConfigState): TrustNeeds {
  const needs = new Map<string, boolean>();
  const note = (policy: PolicyValues | null): void => {
    for (const { ca, needsLists } of trustedFilesOf(policy ?? {}))
      needs.set(ca, needs.get(ca) === true || needsLists);
  };
  for (const appId of state.appIds()) {
    note(state.appOf(appId)?.default_policy ?? null);
    for (const versionId of state.versionIdsOf(appId)) {
      const tree = state.versionTree(versionId);
      if (tree === undefined || tree.version.status === 'retired') continue;
      for (const { revision, endpoints } of tree.revisions) {
        note(revision.default_policy);
        for (const { policy_override: policy } of endpoints) note(policy);
      }
    }
  }
  return needs;
}

/** What gateways lack, by name of the trusted certificates. */
export function trustLacks(needs: TrustNeeds, gateways: readonly TrustOfGateway[]): TrustLack[] {
  const lacks: TrustLack[] = [];
  for (const [name, needsLists] of needs) {
    // Sorted, so that all gateways compare with the same first one.
    const having = gateways.filter(({ files }) => files[name] !== undefined).toSorted(byName);
    const areSomewhere = having.some(({ files }) => files[name]?.lists !== null);
    for (const { node, files } of gateways) {
      const own = files[name];
      const [first] = having;
      const firsts = first?.files[name];
      if (own === undefined) lacks.push({ name, node, what: 'certificates' });
      else if (own.lists === null && needsLists) lacks.push({ name, node, what: 'lists_required' });
      else if (own.lists === null && areSomewhere) lacks.push({ name, node, what: 'lists_of_others' });
      else if (first !== undefined && !isSame(own, firsts)) {
        lacks.push({ name, node, what: 'same_files', other: first.node });
      }
    }
  }
  return lacks;
}

const byName = (a: TrustOfGateway, b: TrustOfGateway): number => (a.node < b.node ? -1 : 1);

type Digests = TrustDigests[string];

/** Missing lists are reported separately, so they make no difference here. */
function isSame(own: Digests, other: Digests | undefined): boolean {
  if (own.certificates !== other?.certificates) return false;
  return own.lists === null || other.lists === null || own.lists === other.lists;
}
