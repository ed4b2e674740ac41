/**
 * The revisions whose targets are discovered, by source, and the targets that were found last: what the main thread
 * knows of them. Revisions with the same source share what was found. Found targets are no part of the configuration:
 * `served` puts them into the record of a revision where it is used. Looks nothing up (control/discovery/).
 */
import type { Discovery, FoundTarget, Revision } from '../../model/resources.ts';

const NONE: readonly FoundTarget[] = [];

export interface DiscoverySource {
  /** The same for equal sources; not for people. */
  readonly key: string;
  readonly discovery: Discovery;
  /** With a file: the port of targets that name none. */
  readonly port: number;
  /** By id. */
  readonly revisions: ReadonlyMap<string, Revision>;
  /** Empty until some were found. */
  readonly targets: readonly FoundTarget[];
}

interface Source extends DiscoverySource {
  readonly revisions: Map<string, Revision>;
  targets: readonly FoundTarget[];
}

interface Served {
  readonly targets: readonly FoundTarget[];
  readonly revision: Revision;
}

export class DiscoveredTargets {
  readonly #sources = new Map<string, Source>();
  readonly #sourceOf = new Map<string, Source>();
  readonly #served = new WeakMap<Revision, Served>();

  /** Every source, also one that no revision has any more, until `forgetUnused`. */
  sources(): IterableIterator<DiscoverySource> {
    return this.#sources.values();
  }

  find(key: string): DiscoverySource | undefined {
    return this.#sources.get(key);
  }

  sourceOf(revision: Revision): DiscoverySource | undefined {
    const key = sourceKey(revision);
    return key === undefined ? undefined : this.#sources.get(key);
  }

  revision(id: string): Revision | undefined {
    return this.#sourceOf.get(id)?.revisions.get(id);
  }

  /** A revision as it is now; one without discovery has no source. */
  put(revision: Revision): void {
    const { id, discovery } = revision;
    const key = sourceKey(revision);
    const before = this.#sourceOf.get(id);
    if (before !== undefined && before.key !== key) this.delete(id);
    if (key === undefined || !discovery) return;
    let source = this.#sources.get(key);
    if (source === undefined) {
      source = { key, discovery, port: revision.backend_port, revisions: new Map(), targets: NONE };
      this.#sources.set(key, source);
    }
    source.revisions.set(id, revision);
    this.#sourceOf.set(id, source);
  }

  delete(revisionId: string): void {
    this.#sourceOf.get(revisionId)?.revisions.delete(revisionId);
    this.#sourceOf.delete(revisionId);
  }

  clear(): void {
    for (const { revisions } of this.#sources.values()) revisions.clear();
    this.#sourceOf.clear();
  }

  /** Not at once, so that a configuration that is loaded anew keeps what was found. */
  forgetUnused(): void {
    for (const [key, { revisions }] of this.#sources) if (revisions.size === 0) this.#sources.delete(key);
  }

  setTargets(key: string, targets: readonly FoundTarget[]): void {
    const source = this.#sources.get(key);
    if (source !== undefined) source.targets = targets;
  }

  /** Of a revision with discovery; undefined for others. */
  targetsOf(revision: Revision): readonly FoundTarget[] | undefined {
    const key = sourceKey(revision);
    return key === undefined ? undefined : (this.#sources.get(key)?.targets ?? NONE);
  }

  /** The revision with the targets that requests may go to; the same object as long as neither changes. */
  served(revision: Revision): Revision {
    const targets = this.targetsOf(revision);
    if (targets === undefined) return revision;
    const known = this.#served.get(revision);
    if (known?.targets === targets) return known.revision;
    const served = { ...revision, targets };
    this.#served.set(revision, { targets, revision: served });
    return served;
  }
}

function sourceKey({ discovery, backend_port: port }: Revision): string | undefined {
  // Records that an earlier release wrote to a snapshot file have no such field.
  if (!discovery) return undefined;
  switch (discovery.type) {
    case 'dns':
      return `dns ${discovery.host.toLowerCase()} ${discovery.port}`;
    case 'dns_srv':
      return `dns_srv ${discovery.name.toLowerCase()}`;
    case 'file':
      return `file ${port} ${discovery.path}`;
  }
}
