/**
 * Policies as records store them and as the levels are merged: parts by name. Only src/policy/ knows what a part is and
 * which parts exist; the layers below pass their values on without reading them.
 */

/** A policy of one level, or a merged one. Its values have passed the schema and the rules of their parts. */
export type PolicyValues = Readonly<Record<string, unknown>>;

/** Where a part of an effective policy comes from. `global` is the settings, `key` a plan on an API key. */
export interface PolicySource {
  readonly level: 'app' | 'revision' | 'endpoint' | 'global' | 'key';
  /** Id of the app, revision, endpoint or key; for `global` the id of the app that the counter belongs to. */
  readonly id: string;
}

/** The merged policy of a route: each part with the level that set it. A part that no level set is absent. */
export interface EffectivePolicy {
  readonly policy: PolicyValues;
  readonly sources: Readonly<Record<string, PolicySource>>;
  /** Values of parts that a more specific level replaced, the widest level first; absent when there are none. */
  readonly replaced?: Readonly<Record<string, readonly unknown[]>>;
}

/** Where policies contain secrets: for each secret one list of names, from the part inwards. */
export type SecretPlaces = readonly (readonly string[])[];

/** A place that may also lie in each item of a list. `eachBy` names the member that tells the items apart. */
export type MaskedPlace = readonly (string | { readonly eachBy: string })[];
