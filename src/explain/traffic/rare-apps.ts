/**
 * Requests of apps that an even sample may miss while other apps have far more: the first few of each app in a second.
 * Learns about a new second from `tick`.
 */

/** Of each app, in each second. */
const TAKEN_MAX = 2;

export class RareApps {
  readonly #taken = new Map<string, number>();

  /** Whether to take a request that the sample does not take. @param appId '' for none */
  takes(appId: string): boolean {
    const taken = this.#taken.get(appId) ?? 0;
    if (taken >= TAKEN_MAX) return false;
    this.#taken.set(appId, taken + 1);
    return true;
  }

  /** Once a second. */
  tick(): void {
    this.#taken.clear();
  }
}
