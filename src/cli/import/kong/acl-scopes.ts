/**
 * Groups of consumers as scopes of keys. A policy asks for all of its scopes, and an `acl` for one of its groups: a
 * list of several groups, or of denied ones, becomes a scope of its own, which every key gets whose groups fit.
 */
import type { TextItem } from '../source.ts';

interface MadeScope {
  readonly scope: string;
  readonly fits: (groups: ReadonlySet<string>) => boolean;
}

/** Scopes of a key. */
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

  /** Scopes of a key whose consumer has these groups; undefined when they are more than a key can have. */
  scopesOf(groups: readonly string[]): string[] | undefined {
    const own = new Set(groups);
    const made = [...this.#made.values()].filter(({ fits }) => fits(own)).map(({ scope }) => scope);
    const scopes = [...new Set([...groups, ...made])];
    return scopes.length > SCOPES_MAX ? undefined : scopes;
  }

  #make(name: string, fits: MadeScope['fits']): string {
    // A scope has at most 256 characters; longer lists are told apart by a number.
    const known = this.#made.get(name);
    if (known !== undefined) return known.scope;
    const scope = name.length <= 256 ? name : `${name.slice(0, 240)}…${this.#made.size + 1}`;
    this.#made.set(name, { scope, fits });
    return scope;
  }
}
