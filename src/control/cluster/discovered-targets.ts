/**
 * The main thread's knowledge of revisions with discovery, by source, and of the targets that were found last.
 * Revisions with the same source share the found targets. They are not part of the configuration: `served` adds them to
 * the record of a revision where it is used. The look-ups are in control/discovery/.
 */
import type { Discovery, FoundTarget, Revision } from '../../model/resources.ts';

const NONE: readonly FoundTarget[] = [];

export interface DiscoverySource {
  /** Equal for equal sources; not for people. */
  readonly key: string;
  readonly discovery: Discovery;
  /** For a file: the port of targets without one. */
  readonly port: number;
  /** By id. */
  readonly revisions: ReadonlyMap<string, Revision>;
  /** Empty until targets were found. */
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

  /** Every source, including sources that no revision uses any more, until `forgetUnused`. */
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

  /** A revision in its present form; a revision without discovery has no source. */
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

  /** Called later than the change, so that a configuration that is loaded again keeps what was found. */
  forgetUnused(): void {
    for (const [key, { revisions }] of this.#sources) if (revisions.size === 0) this.#sources.delete(key);
  }

  setTargets(key: string, targets: readonly FoundTarget[]): void {
    const source = this.#sources.get(key);
    if (source !== undefined) source.targets = targets;
  }

  /** The targets of a revision with discovery; undefined for others. */
  targetsOf(revision: Revision): readonly FoundTarget[] | undefined {
    const key = sourceKey(revision);
    return key === undefined ? undefined : (this.#sources.get(key)?.targets ?? NONE);
  }

  /** The revision with its current targets; the same object as long as neither changes. */
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
  // Records in a snapshot file of an earlier release do not have this field.
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
