/**
 * Turns groups of consumers into scopes of keys. A policy requires all of its scopes, while an `acl` requires one of
 * its groups: a list of several groups, or of denied groups, becomes a scope of its own, which every key with
 * fitting groups gets.
 */
import type { TextItem } from '../source.ts';

interface MadeScope {
  readonly scope: string;
  readonly fits: (groups: ReadonlySet<string>) => boolean;
}

/** Limit of the scopes of a key. */
const SCOPES_MAX = 200;

export class AclScopes {
  readonly #made = new Map<string, MadeScope>();

  /** @returns the scope that stands for "in one of these groups" */
  anyOf(groups: readonly TextItem[]): string {
    const names = groups.map(({ text }) => text).sort();
    const [first = ''] = names;
    if (names.length === 1) return first;
    return this.#make(`any-of:${names.join(',')}`, (own) => names.some((name) => own.has(name)));
  }

  /** @returns the scope that stands for "in none of these groups" */
  noneOf(groups: readonly TextItem[]): string {
    const names = groups.map(({ text }) => text).sort();
    return this.#make(`none-of:${names.join(',')}`, (own) => !names.some((name) => own.has(name)));
  }

  /** The scopes of a key whose consumer has these groups; undefined when there are more than a key can have. */
  scopesOf(groups: readonly string[]): string[] | undefined {
    const own = new Set(groups);
    const made = [...this.#made.values()].filter(({ fits }) => fits(own)).map(({ scope }) => scope);
    const scopes = [...new Set([...groups, ...made])];
    return scopes.length > SCOPES_MAX ? undefined : scopes;
  }

  #make(name: string, fits: MadeScope['fits']): string {
    // A scope has at most 256 characters; longer lists are distinguished by a number.
    const known = this.#made.get(name);
    if (known !== undefined) return known.scope;
    const scope = name.length <= 256 ? name : `${name.slice(0, 240)}…${this.#made.size + 1}`;
    this.#made.set(name, { scope, fits });
    return scope;
  }
}
