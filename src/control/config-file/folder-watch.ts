/**
 * Hints of the operating system that something in a folder has changed, so that a change is seen at once. Only hints:
 * network file systems give none, and their number is limited. What cannot be watched is left to polling.
 */
import { watch, type FSWatcher } from 'node:fs';

/** More folders are not watched. */
const FOLDERS_MAX = 256;

export class FolderWatch {
  readonly #onHint: (name: string | undefined) => void;
  #watchers = new Map<string, FSWatcher>();

  /** @param onHint gets the name of what has changed in a folder, where that is known */
  constructor(onHint: (name: string | undefined) => void) {
    this.#onHint = onHint;
  }

  /** Watches these folders and no others. A folder that was replaced is noticed by its end, or by polling. */
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
      // Polling sees the change a little later.
    }
  }
}
