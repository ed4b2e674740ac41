/** A route of another gateway, in the terms that all imports share. */
import type { Segments } from './route-patterns.ts';
import type { SourceNode } from './source.ts';

/** Methods that endpoints may have. The endpoint of GET also serves HEAD. */
export const ENDPOINT_METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

export type Item = Readonly<Record<string, unknown>>;

/** By the position of the segment. */
export type SegmentMatchers = readonly (RegExp | undefined)[];

export interface ImportedPattern {
  /** Relative to the root. A final `*` also matches the path before it, as prefixes do. */
  readonly segments: Segments;
  /** The number of leading segments that the backend does not get. */
  readonly drop: number;
  /** Routes are tried from the highest priority on; compared from left to right. */
  readonly priority: readonly number[];
  readonly node: SourceNode;
  /** Its last literal segment is the beginning of longer ones in the other gateway. */
  readonly isTextPrefix?: boolean;
  /** It is of a route that cannot be carried over. */
  readonly isLeftOut?: boolean;
  /** It matches paths that the route does not match in the other gateway. */
  readonly isWider?: boolean;
  /** Of a path that no pattern can express: what its segments match, where that is known. */
  readonly matchers?: SegmentMatchers | undefined;
  /** Paths below it that the route does not match. */
  readonly excluded?: readonly Segments[];
}

export interface ImportedBackend {
  readonly label: string;
  /** `backend_*` and `traffic_weight` of a revision. */
  readonly fields: Item;
}

/** Of a route whose own backends could not be carried over: no host has this name (RFC 6761 section 6.4). */
export const UNKNOWN_BACKENDS: readonly ImportedBackend[] = [
  { label: 'backend', fields: { backend_host: 'backend.invalid' } },
];

export interface ImportedRoute {
  readonly label: string;
  /** `*` alone, or methods that endpoints can have. */
  readonly methods: readonly string[];
  readonly patterns: readonly ImportedPattern[];
  readonly backends: readonly ImportedBackend[];
  /** Further fields of the revisions. */
  readonly revision: Item;
  readonly isCurrent: boolean;
  /** All parts that apply to it, of the app as well; absent: nothing is kept out. */
  readonly policy?: Item;
  /** It is for certain hosts. */
  readonly hasHosts?: boolean;
  /** Names of the listeners that serve it in the other gateway, in order; absent: all. */
  readonly listeners?: readonly string[] | undefined;
  /** It cannot be carried over, and its patterns may be wider than what it matches (left-out-routes.ts). */
  readonly isLeftOut?: boolean;
}

/** The requests of one method and pattern below a mount. */
export interface Requests {
  readonly method: string;
  readonly segments: Segments;
}

/** The requests that a route matches below a mount. */
export interface Entry extends Requests {
  readonly route: ImportedRoute;
  readonly pattern: ImportedPattern;
}
