/**
 * The certificates that the gateway presents to backends: pairs of files `<name>.crt` and `<name>.key` in one
 * folder. The main thread reads them at the start, and again when one of them changes, is added or removed (checked
 * once a second by time, inode and size) or on request. An unusable pair does not stop the start: it is logged once,
 * its previous content stays in use, and reading is retried. No message contains text of a key.
 */
import { basename, join } from 'node:path';
import { readBoundedFile } from '../../declaration/bounded-file.ts';
import { timestamp, type Clock } from '../../lib/clock.ts';
import { CERTIFICATE_NAME_PATTERN } from '../../model/patterns.ts';
import type { Logger } from '../../observe/log.ts';
import {
  certificateFacts,
  type CertificateFacts,
  type CertificatePair,
} from '../../proxy/downstream/tls/tls-certificate.ts';
import { CertificateReminder, certificateProblems, problemText } from './certificate-ends.ts';
import { CERT_END, CertificateFolder, stampOf } from './certificate-folder.ts';
import type { UnusableFiles } from './certificates.ts';

const KEY_END = '.key';
const NAME = new RegExp(CERTIFICATE_NAME_PATTERN);
const CLIENT_CERTIFICATES_MAX = 1_000;
/** The longest file; chains have some thousand bytes. */
const FILE_BYTES_MAX = 262_144;

export interface ClientCertificateDeps {
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Sends the pairs to their users; resolves when new connections use them. */
type Publish = (pairs: ReadonlyMap<string, CertificatePair>) => Promise<void>;

interface Entry {
  /** State of the files that were read; '' when they could not be used. */
  stamp: string;
  pair: CertificatePair;
  facts: CertificateFacts;
}

export class ClientCertificateWatch {
  readonly #deps: ClientCertificateDeps;
  readonly #reminder: CertificateReminder;
  readonly #entries = new Map<string, Entry>();
  /** States of the unusable files, by name: they are read again when it changes. */
  readonly #unusable = new Map<string, string>();
  readonly #folder: CertificateFolder;
  #publish: Publish | undefined;

  constructor(deps: ClientCertificateDeps) {
    this.#deps = deps;
    this.#folder = new CertificateFolder({
      folder: deps.folder,
      look: () => this.#look(),
      tell: (name, reason) => this.#tell(name, reason),
    });
    this.#reminder = new CertificateReminder(deps.clock, deps.log, 'backends');
  }

  get pairs(): ReadonlyMap<string, CertificatePair> {
    return new Map([...this.#entries].map(([name, { pair }]) => [name, pair]));
  }

  /** The name of its files is the only name of a certificate. */
  get facts(): readonly CertificateFacts[] {
    return [...this.#entries].map(([name, { facts }]) => ({ ...facts, names: [name] }));
  }

  /** A text about expired or not yet valid certificates; undefined when there are none. */
  get problem(): string | undefined {
    return problemText(certificateProblems(this.facts, this.#deps.clock.nowMs()), 'backends');
  }

  get unusable(): readonly UnusableFiles[] {
    return [...this.#folder.complaints].map(([name, reason]) => {
      const text =
        name === ''
          ? `Cannot read all of the client certificates for backends: ${reason}`
          : `Cannot use the client certificate "${name}" for backends: ${reason}. A certificate of this name that was read before stays in use`;
      return { text, sinceMs: undefined };
    });
  }

  start(publish: Publish): void {
    this.#publish = publish;
    this.#folder.start(() => this.#reminder.look(this.facts));
  }

  stop(): Promise<void> {
    return this.#folder.stop();
  }

  /** Reads the files again, whether or not they changed. */
  reload(): Promise<void> {
    return this.#folder.reload(() => {
      for (const entry of this.#entries.values()) entry.stamp = '';
      this.#unusable.clear();
    });
  }

  /** Reads the files that have changed; never rejects. */
  check(): Promise<void> {
    return this.#folder.check();
  }

  async #look(): Promise<void> {
    const names = await this.#names();
    for (const name of [...this.#unusable.keys()].filter((known) => !names.includes(known))) {
      this.#unusable.delete(name);
      this.#folder.complaints.delete(name);
    }
    const changed: string[] = [];
    for (const name of names) if (await this.#read(name)) changed.push(name);
    for (const name of [...this.#entries.keys()].filter((known) => !names.includes(known))) {
      this.#entries.delete(name);
      this.#folder.complaints.delete(name);
      changed.push(name);
    }
    if (changed.length === 0) return;
    await this.#publish?.(this.pairs);
    const certificates = changed.map((name) => ({ name, expires_at: this.#expiryOf(name) }));
    this.#deps.log.info(
      { certificates },
      `client certificates were ${this.#publish === undefined ? 'read' : 'reloaded'}`,
    );
  }

  async #names(): Promise<readonly string[]> {
    const files = new Set(await this.#folder.files());
    const paired = [...files]
      .filter((file) => file.endsWith(CERT_END))
      .map((file) => file.slice(0, -CERT_END.length))
      .filter((name) => NAME.test(name) && files.has(name + KEY_END));
    // One of the two files may be missing while both are replaced.
    const replaced = [...this.#entries.keys()].filter(
      (name) => files.has(name + CERT_END) !== files.has(name + KEY_END),
    );
    return this.#folder.readNames(
      [...paired, ...replaced],
      (name) => this.#entries.has(name),
      CLIENT_CERTIFICATES_MAX,
    );
  }

  /** Returns whether the pair has changed. */
  async #read(name: string): Promise<boolean> {
    const files = [CERT_END, KEY_END].map((end) => join(this.#deps.folder, name + end));
    // Before reading: the next check then sees a change made meanwhile.
    const stamp = (await Promise.all(files.map(stampOf))).join(' ');
    const known = this.#entries.get(name);
    if (known?.stamp === stamp || this.#unusable.get(name) === stamp) return false;
    const pair = readPair(files);
    const facts = 'error' in pair ? pair : certificateFacts(pair);
    if ('error' in facts || 'error' in pair) {
      this.#unusable.set(name, stamp);
      this.#folder.complain(name, (facts as { readonly error: string }).error);
      return false;
    }
    this.#unusable.delete(name);
    this.#folder.complaints.delete(name);
    if (known?.pair.cert === pair.cert && known.pair.key === pair.key) {
      known.stamp = stamp;
      return false;
    }
    this.#entries.set(name, { stamp, pair, facts });
    return true;
  }

  #expiryOf(name: string): string | undefined {
    const entry = this.#entries.get(name);
    return entry && timestamp(entry.facts.expiresAtMs);
  }

  #tell(name: string, reason: string): void {
    const { log, folder } = this.#deps;
    if (name === '') log.error({ folder, reason }, 'cannot read all of the client certificates');
    else
      log.error(
        { certificate: name, reason },
        'cannot use a client certificate; the previous one stays in use',
      );
  }
}

/** Never waits, because it refuses pipes. */
function readPair(files: readonly string[]): CertificatePair | { readonly error: string } {
  const texts: string[] = [];
  for (const file of files) {
    const read = readBoundedFile(file, FILE_BYTES_MAX);
    if ('problem' in read) return { error: `${basename(file)}: ${read.problem}` };
    texts.push(Buffer.from(read.bytes).toString('utf8'));
  }
  const [cert = '', key = ''] = texts;
  return { cert, key };
}
