/**
 * The bundles of trusted certificates of one thread, by name. A bundle is parsed when a policy first asks for it.
 * Owns the parsed bundles; when files have changed, all are replaced at once.
 */
import { readTrustBundle, type TrustBundle, type TrustFiles } from './trust-bundle.ts';

export interface TrustDirectory {
  /** undefined when there is no such bundle, or it is invalid. */
  find(name: string): TrustBundle | undefined;
  /** Increases with every change of a bundle, so that cached decisions can be dropped. */
  readonly generation: number;
  /** A revocation list whose next update is overdue: `refuse` all certificates of its issuer, or `use` it. */
  readonly overdueCrls: 'refuse' | 'use';
  /** Called when a policy that verifies client certificates is compiled. */
  noteUse(): void;
}

export class TrustStore implements TrustDirectory {
  readonly overdueCrls: 'refuse' | 'use';
  #isUsed = false;
  #generation = 0;
  #files: ReadonlyMap<string, TrustFiles>;
  readonly #bundles = new Map<string, TrustBundle | undefined>();

  constructor(files: ReadonlyMap<string, TrustFiles> = new Map(), overdueCrls: 'refuse' | 'use' = 'refuse') {
    this.#files = files;
    this.overdueCrls = overdueCrls;
  }

  /** Whether any policy verifies client certificates now, or did earlier. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  noteUse(): void {
    this.#isUsed = true;
  }

  get generation(): number {
    return this.#generation;
  }

  replace(files: ReadonlyMap<string, TrustFiles>): void {
    this.#files = files;
    this.#bundles.clear();
    this.#generation += 1;
  }

  find(name: string): TrustBundle | undefined {
    if (this.#bundles.has(name)) return this.#bundles.get(name);
    const files = this.#files.get(name);
    if (files === undefined) return undefined;
    const read = readTrustBundle(files);
    const bundle = 'error' in read ? undefined : read;
    this.#bundles.set(name, bundle);
    return bundle;
  }
}
