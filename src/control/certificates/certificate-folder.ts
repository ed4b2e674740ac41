/**
 * The common parts of the two watches of certificate folders: a check of the folder once a second, one check at a
 * time, and complaints that are logged once.
 */
import { readdir, stat } from 'node:fs/promises';
import { messageOf } from '../../lib/error-message.ts';

const POLL_MS = 1_000;
export const CERT_END = '.crt';
/** The state of a file that does not exist. */
export const GONE = 'none';

export interface CertificateFolderDeps {
  readonly folder: string;
  /** Reads the files that have changed. */
  readonly look: () => Promise<void>;
  /** @param subject the unusable file; '' is the folder */
  readonly tell: (subject: string, reason: string) => void;
}

export class CertificateFolder {
  readonly #deps: CertificateFolderDeps;
  /** The last complaint, by its subject. */
  readonly complaints = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(deps: CertificateFolderDeps) {
    this.#deps = deps;
  }

  /** @param remind is called before each look */
  start(remind: () => void): void {
    remind();
    this.#timer = setInterval(() => {
      remind();
      void this.check();
    }, POLL_MS);
  }

  /** Also waits for a look under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  /** @param forget clears the stored states of all files; called after a check under way */
  async reload(forget: () => void): Promise<void> {
    await this.#looking;
    forget();
    await this.check();
  }

  /** Never rejects. */
  check(): Promise<void> {
    this.#looking ??= this.#deps
      .look()
      .catch((error: unknown) => this.complain('', messageOf(error)))
      .finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  complain(subject: string, reason: string): undefined {
    if (this.complaints.get(subject) === reason) return;
    this.complaints.set(subject, reason);
    this.#deps.tell(subject, reason);
  }

  async files(): Promise<readonly string[]> {
    return readdir(this.#deps.folder);
  }

  /**
   * The names to read. Names in use come first, so that additional files do not displace them.
   * @param max limit, because each file is checked once a second
   */
  readNames(found: readonly string[], isInUse: (name: string) => boolean, max: number): readonly string[] {
    const sorted = found.toSorted();
    const names = [...sorted.filter(isInUse), ...sorted.filter((name) => !isInUse(name))];
    const firstLeft = names[max];
    if (firstLeft === undefined) this.complaints.delete('');
    else this.complain('', `more than ${max}: "${firstLeft}" is the first one that is not read`);
    return names.slice(0, max);
  }
}

/** A text that changes whenever the file does. */
export async function stampOf(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found === undefined ? GONE : `${found.mtimeNs}:${found.ctimeNs}:${found.ino}:${found.size}`;
}
