/**
 * Hints of the operating system that something in a folder has changed, so that a change is noticed at once. They
 * are only hints: network file systems give none, and their number is limited. Folders that cannot be watched are
 * left to polling.
 */
import { watch, type FSWatcher } from 'node:fs';

/** Limit of watched folders. */
const FOLDERS_MAX = 256;

export class FolderWatch {
  readonly #onHint: (name: string | undefined) => void;
  #watchers = new Map<string, FSWatcher>();

  /** @param onHint receives the name of the changed file, if it is known */
  constructor(onHint: (name: string | undefined) => void) {
    this.#onHint = onHint;
  }

  /** Watches only these folders. A replaced folder is noticed by the end of its watch, or by polling. */
  follow(folders: readonly string[]): void {
    const wanted = new Set(folders.slice(0, FOLDERS_MAX));
    for (const [folder, watcher] of this.#watchers) {
      if (wanted.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of wanted) if (!this.#watchers.has(folder)) this.#add(folder);
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers = new Map();
  }

  #add(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => this.#onHint(name ?? undefined));
      const drop = (): void => {
        watcher.close();
        if (this.#watchers.get(folder) === watcher) this.#watchers.delete(folder);
      };
      watcher.on('error', drop);
      this.#watchers.set(folder, watcher);
    } catch {
      // Polling notices the change a little later.
    }
  }
}
