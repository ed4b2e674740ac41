/**
 * Policies as records hold them and as the levels are merged: parts by name. What a part is, and which parts there
 * are, only src/policy/ knows; everything below it passes their values on without looking into them.
 */

/** A policy of one level, or a merged one. Its values have passed the schema and the rules of their parts. */
export type PolicyValues = Readonly<Record<string, unknown>>;

/** Where a part of an effective policy comes from. `global` is the settings, `key` a plan on an API key. */
export interface PolicySource {
  readonly level: 'app' | 'revision' | 'endpoint' | 'global' | 'key';
  /** Id of the app, revision, endpoint or key; for `global` the id of the app that the counter belongs to. */
  readonly id: string;
}

/** The merged policy of a route: each part with the level that set it; a part that no level set is absent. */
export interface EffectivePolicy {
  readonly policy: PolicyValues;
  readonly sources: Readonly<Record<string, PolicySource>>;
  /** Values of parts that a more specific level replaced, the widest level first; absent when there are none. */
  readonly replaced?: Readonly<Record<string, readonly unknown[]>>;
}

/** Where secrets lie inside of policies: one list of names for each, from the part inwards. */
export type SecretPlaces = readonly (readonly string[])[];

/** A place that may also lie in each item of a list. `eachBy` names the member that tells the items apart. */
export type MaskedPlace = readonly (string | { readonly eachBy: string })[];
