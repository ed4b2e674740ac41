/**
 * The versions by `gateway_path`: finds the version with the longest whole-segment prefix of a path. One flat map and
 * the number of versions at each depth: a lookup asks the map only at depths that occur. That is once for the usual
 * configuration, whose gateway paths all have the same number of segments, and PATH_SEGMENTS_MAX times at worst.
 *
 * Changed in place, only by the holder, and never during a lookup: both are synchronous.
 */
import { PATH_LENGTH_MAX, PATH_SEGMENTS_MAX } from '../path-patterns.ts';

interface Placed {
  /** Canonical, without a trailing slash; `/` is the empty string. */
  readonly gatewayPath: string;
}

// Where the prefix of each depth ends in the current path; depth 0 is the empty prefix.
const prefixEnds = new Int32Array(PATH_SEGMENTS_MAX + 1);

export class VersionIndex<V extends Placed> {
  readonly #versions = new Map<string, V>();
  readonly #countByDepth = new Uint32Array(PATH_SEGMENTS_MAX + 1);
  #deepest = 0;

  get size(): number {
    return this.#versions.size;
  }

  /** The version with exactly this gateway path. */
  at(gatewayPath: string): V | undefined {
    return this.#versions.get(gatewayPath);
  }

  values(): Iterable<V> {
    return this.#versions.values();
  }

  /** The version with the longest prefix of a canonical path. */
  find(path: string): V | undefined {
    const deepest = this.#deepest;
    let depth = 0;
    let end = 0;
    while (depth < deepest && end < path.length) {
      end = path.indexOf('/', end + 1);
      if (end < 0) end = path.length;
      // No gateway path is longer; hashing longer prefixes would be wasted work.
      if (end > PATH_LENGTH_MAX) break;
      prefixEnds[++depth] = end;
    }
    for (; depth > 0; depth--) {
      if (this.#countByDepth[depth] === 0) continue;
      const found = this.#versions.get(path.slice(0, prefixEnds[depth]));
      if (found !== undefined) return found;
    }
    return this.#versions.get('');
  }

  set(version: V): void {
    if (!this.#versions.has(version.gatewayPath)) this.#count(version.gatewayPath, 1);
    this.#versions.set(version.gatewayPath, version);
  }

  /** Replaces a version by another form of it, including the key, which becomes the text of the new form. */
  renew(version: V): void {
    this.#versions.delete(version.gatewayPath);
    this.#versions.set(version.gatewayPath, version);
  }

  delete(gatewayPath: string): void {
    if (this.#versions.delete(gatewayPath)) this.#count(gatewayPath, -1);
  }

  #count(gatewayPath: string, difference: 1 | -1): void {
    const depth = gatewayPath.split('/').length - 1;
    this.#countByDepth[depth] = (this.#countByDepth[depth] as number) + difference;
    this.#deepest = this.#countByDepth.findLastIndex((count) => count > 0);
    if (this.#deepest < 0) this.#deepest = 0;
  }
}
