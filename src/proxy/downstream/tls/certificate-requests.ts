/**
 * Decides which clients are asked for a certificate during the handshake: those whose server name may reach a route
 * with `auth_type: mtls`. An app with hosts concerns its hosts, any other app concerns every name; a client without
 * a server name is asked if any app requires it. Owns what it has derived from the configuration, which it reads
 * again at the first handshake or request after a change.
 */
import type { PathTrie } from '../../../config/path-trie.ts';
import { canonicalHost, isWildcardEntry, nameOfEntry } from '../../../http/fields/host-name.ts';
import { trustedFilesOf } from '../../../policy/records/parts-of-records.ts';
import type { Revision, Route, Version } from '../../interfaces/route.ts';

type Names = ReadonlySet<string>;

const NO_NAMES: Names = new Set();
/** Limit of cached server names: clients may send any. */
const REMEMBERED_MAX = 2_048;

export interface RequestSource {
  /** All versions in force. */
  versions(): Iterable<Version>;
  /** Whether any policy asks for certificates now, or did so earlier. */
  isUsed(): boolean;
}

export class CertificateRequests {
  readonly #source: RequestSource;
  readonly #ofTrie = new WeakMap<PathTrie<Route>, Names>();
  #isOutdated = true;
  /** The names for apps without hosts. */
  #everywhere = new Set<string>();
  readonly #byHost = new Map<string, Set<string>>();
  readonly #byWildcard = new Map<string, Set<string>>();
  readonly #remembered = new Map<string, Names>();

  constructor(source: RequestSource) {
    this.#source = source;
  }

  /** Called when the configuration has changed. */
  outdate(): void {
    this.#isOutdated = true;
  }

  /** `every`: each client is asked, whatever its server name. */
  get mode(): 'none' | 'some' | 'every' {
    if (!this.#source.isUsed()) return 'none';
    this.#update();
    if (this.#everywhere.size > 0) return 'every';
    return this.#byHost.size + this.#byWildcard.size > 0 ? 'some' : 'none';
  }

  /** Names of the trusted certificates that routes under this server name require. */
  askedFor(serverName: string): Names {
    if (!this.#source.isUsed()) return NO_NAMES;
    this.#update();
    let names = this.#remembered.get(serverName);
    if (names === undefined) {
      names = this.#find(serverName);
      if (this.#remembered.size >= REMEMBERED_MAX) this.#remembered.clear();
      this.#remembered.set(serverName, names);
    }
    return names;
  }

  #find(serverName: string): Names {
    const found = new Set(this.#everywhere);
    const add = (names: Names | undefined): void => names?.forEach((name) => found.add(name));
    if (serverName === '') {
      for (const map of [this.#byHost, this.#byWildcard]) for (const names of map.values()) add(names);
      return found;
    }
    const host = canonicalHost(serverName);
    add(this.#byHost.get(host));
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1))
      add(this.#byWildcard.get(host.slice(dot + 1)));
    return found;
  }

  #update(): void {
    if (!this.#isOutdated) return;
    this.#isOutdated = false;
    this.#everywhere = new Set();
    for (const map of [this.#byHost, this.#byWildcard, this.#remembered]) map.clear();
    for (const { app, status, revisions } of this.#source.versions()) {
      if (status === 'retired') continue;
      for (const revision of revisions) this.#note(app.hosts, revision);
    }
  }

  #note(hosts: readonly string[], { endpoints, fallback }: Revision): void {
    const names = [...this.#namesOf(endpoints), ...(fallback === undefined ? [] : trustedNamesOf(fallback))];
    if (names.length === 0) return;
    for (const set of this.#setsOf(hosts)) for (const name of names) set.add(name);
  }

  #setsOf(hosts: readonly string[]): Set<string>[] {
    if (hosts.length === 0) return [this.#everywhere];
    return hosts.map((host) => {
      const map = isWildcardEntry(host) ? this.#byWildcard : this.#byHost;
      const set = map.get(nameOfEntry(host)) ?? new Set();
      map.set(nameOfEntry(host), set);
      return set;
    });
  }

  /** A trie is replaced when one of its endpoints changes. */
  #namesOf(trie: PathTrie<Route>): Names {
    let names = this.#ofTrie.get(trie);
    if (names === undefined) {
      names = new Set(trie.entries.filter(({ active }) => active).flatMap(trustedNamesOf));
      this.#ofTrie.set(trie, names);
    }
    return names;
  }
}

function trustedNamesOf({ effective }: Route): string[] {
  return trustedFilesOf(effective.policy).map(({ ca }) => ca);
}
