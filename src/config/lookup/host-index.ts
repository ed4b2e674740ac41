/**
 * The versions by host and `gateway_path`: first the versions of the apps that name the host of a request, then those
 * of the apps that name a wildcard over it, the longest first, then those of the apps without hosts. In each of these
 * the longest path decides, and a host that has no version for the path leaves the request to the next
 * (docs/explanation/decisions/hosts.md).
 *
 * A look-up reads one map for the name, and one per wildcard length in use; the result is cached per host. So its cost
 * does not grow with the number of hosts. While no app has hosts, only the paths are looked up.
 *
 * Changed in place, only by the holder, and never during a look-up: both are synchronous.
 */
import { ownText } from '../../http/latin1.ts';
import { canonicalHost, HOST_LABELS_MAX, isWildcardEntry, nameOfEntry } from '../../http/fields/host-name.ts';
import { VersionIndex } from './version-index.ts';

interface Placed {
  readonly gatewayPath: string;
  readonly app: {
    /** In their stored form; none: every host. */
    readonly hosts: readonly string[];
  };
}

const DOT = 0x2e;
/** Limit of cached hosts: clients may send any. */
const CANDIDATES_MAX = 2_048;
/** Limits of what is looked at for a hint, on a thread that serves requests. */
const HOSTS_SEARCHED_MAX = 10_000;
const VERSIONS_SEARCHED_MAX = 10_000;

export class HostIndex<V extends Placed> {
  readonly #everyHost = new VersionIndex<V>();
  #hasHosts = false;
  readonly #byName = new Map<string, VersionIndex<V>>();
  /** By the name after the star. */
  readonly #byWildcard = new Map<string, VersionIndex<V>>();
  /** The number of wildcards in use, by their number of labels. */
  readonly #wildcardsByLabels = new Uint32Array(HOST_LABELS_MAX + 1);

  /** Cached indexes by the host as written in requests. */
  readonly #candidates = new Map<string, readonly VersionIndex<V>[]>();

  /**
   * @param path canonical
   * @param authority of the request: a host with an optional port, or '' (proxy/downstream has checked it)
   */
  find(path: string, authority: string): V | undefined {
    if (!this.#hasHosts) return this.#everyHost.find(path);
    return this.#findNamed(path, authority) ?? this.#everyHost.find(path);
  }

  /** The version with the longest path among those of apps with hosts, whatever host the request has. */
  findAtAnyHost(path: string): V | undefined {
    let best: V | undefined;
    let searched = 0;
    for (const indexes of [this.#byName, this.#byWildcard]) {
      for (const index of indexes.values()) {
        if (++searched > HOSTS_SEARCHED_MAX) return best;
        const found = index.find(path);
        if (found !== undefined && found.gatewayPath.length > (best?.gatewayPath.length ?? -1)) best = found;
      }
    }
    return best;
  }

  /**
   * For a path that no version of the host has: a version whose path has the most segments at its start in common with
   * it, at least one. Of several the first.
   * @param isMeant false for versions that are no hint
   */
  findNear(path: string, authority: string, isMeant: (version: V) => boolean): V | undefined {
    const named = this.#hasHosts ? (this.#candidates.get(authority) ?? this.#resolve(authority)) : [];
    const segments = path.split('/');
    let best: V | undefined;
    let most = 0;
    let searched = 0;
    for (const index of [...named, this.#everyHost]) {
      for (const version of index.values()) {
        if (++searched > VERSIONS_SEARCHED_MAX) return best;
        const count = sharedSegments(segments, version.gatewayPath);
        if (count <= most || !isMeant(version)) continue;
        [best, most] = [version, count];
      }
    }
    return best;
  }

  /**
   * A version that serves some of the same requests: it has the same path, and a host in common, or both have no
   * hosts.
   */
  conflicting({ gatewayPath, app }: V, isGone: (version: V) => boolean): V | undefined {
    for (const index of this.#indexesOf(app.hosts)) {
      const held = index.at(gatewayPath);
      if (held !== undefined && !isGone(held)) return held;
    }
    return undefined;
  }

  set(version: V): void {
    const { hosts } = version.app;
    if (hosts.length === 0) return this.#everyHost.set(version);
    for (const host of hosts) this.#indexFor(host).set(version);
  }

  /** Replaces a version by another form of it; see `VersionIndex.renew`. */
  renew(version: V): void {
    for (const index of this.#indexesOf(version.app.hosts)) index.renew(version);
  }

  delete({ gatewayPath, app }: V): void {
    if (app.hosts.length === 0) return this.#everyHost.delete(gatewayPath);
    for (const host of app.hosts) this.#deleteAt(host, gatewayPath);
  }

  #findNamed(path: string, authority: string): V | undefined {
    // Usually the host is written as it is stored.
    const found = this.#byName.get(authority)?.find(path);
    if (found !== undefined) return found;
    for (const index of this.#candidates.get(authority) ?? this.#resolve(authority)) {
      const version = index.find(path);
      if (version !== undefined) return version;
    }
    return undefined;
  }

  /** The indexes of a host in their order; cached for its next request. */
  #resolve(authority: string): readonly VersionIndex<V>[] {
    const host = canonicalHost(authority);
    const found: VersionIndex<V>[] = [];
    const own = this.#byName.get(host);
    if (own !== undefined) found.push(own);
    let labels = 1;
    for (let at = 0; at < host.length; at++) if (host.charCodeAt(at) === DOT) labels += 1;
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      labels -= 1;
      // No wildcard in use has this number of labels.
      if ((this.#wildcardsByLabels[labels] ?? 0) === 0) continue;
      const index = this.#byWildcard.get(host.slice(dot + 1));
      if (index !== undefined) found.push(index);
    }
    if (this.#candidates.size >= CANDIDATES_MAX) this.#candidates.clear();
    this.#candidates.set(ownText(authority), found);
    return found;
  }

  /** The indexes that exist for the hosts of an app. */
  *#indexesOf(hosts: readonly string[]): Generator<VersionIndex<V>> {
    if (hosts.length === 0) yield this.#everyHost;
    for (const host of hosts) {
      const index = this.#mapOf(host).get(nameOfEntry(host));
      if (index !== undefined) yield index;
    }
  }

  #mapOf(host: string): Map<string, VersionIndex<V>> {
    return isWildcardEntry(host) ? this.#byWildcard : this.#byName;
  }

  #indexFor(host: string): VersionIndex<V> {
    const [map, name] = [this.#mapOf(host), nameOfEntry(host)];
    let index = map.get(name);
    if (index === undefined) {
      index = new VersionIndex<V>();
      map.set(name, index);
      this.#hasHosts = true;
      this.#candidates.clear();
      if (map === this.#byWildcard) this.#countWildcard(name, 1);
    }
    return index;
  }

  #deleteAt(host: string, gatewayPath: string): void {
    const [map, name] = [this.#mapOf(host), nameOfEntry(host)];
    const index = map.get(name);
    index?.delete(gatewayPath);
    if (index?.size !== 0) return;
    map.delete(name);
    this.#hasHosts = this.#byName.size + this.#byWildcard.size > 0;
    this.#candidates.clear();
    if (map === this.#byWildcard) this.#countWildcard(name, -1);
  }

  #countWildcard(name: string, difference: 1 | -1): void {
    const labels = name.split('.').length;
    this.#wildcardsByLabels[labels] = (this.#wildcardsByLabels[labels] as number) + difference;
  }
}

/** How many segments two paths have in common at their start. @param segments the first is empty, before the slash */
function sharedSegments(segments: readonly string[], gatewayPath: string): number {
  const others = gatewayPath.split('/');
  let count = 1;
  while (count < segments.length && count < others.length && segments[count] === others[count]) count += 1;
  return count - 1;
}
