/** A route of another gateway, in the words that all imports share. */
import type { Segments } from './route-patterns.ts';
import type { SourceNode } from './source.ts';

export type Item = Readonly<Record<string, unknown>>;

export interface ImportedPattern {
  /** From the root. With a final `*` the path before it matches as well, as prefixes do. */
  readonly segments: Segments;
  /** Leading segments that the backend does not get. */
  readonly drop: number;
  /** Routes are asked from the highest on; compared from left to right. */
  readonly priority: readonly number[];
  readonly node: SourceNode;
}

export interface ImportedBackend {
  readonly label: string;
  /** `backend_*` and `traffic_weight` of a revision. */
  readonly fields: Item;
}

export interface ImportedRoute {
  readonly label: string;
  /** `*` alone, or methods that endpoints have. */
  readonly methods: readonly string[];
  readonly patterns: readonly ImportedPattern[];
  readonly backends: readonly ImportedBackend[];
  /** Further fields of its revisions. */
  readonly revision: Item;
  readonly isCurrent: boolean;
}

/** Requests of one method and pattern below a mount. */
export interface Requests {
  readonly method: string;
  readonly segments: Segments;
}

/** What a route asks for below a mount. */
export interface Entry extends Requests {
  readonly route: ImportedRoute;
  readonly pattern: ImportedPattern;
}
