/**
 * The certificates that client certificates are verified with: files `<name>.crt` in one folder, with revocation
 * lists in `<name>.crl`. The main thread reads them at the start, and again when one of them changes, is added or
 * removed (checked once a second by time, inode and size) or on request, and publishes their text. An unusable file
 * does not stop the start: it is logged once, its previous content stays in use, and reading is retried. A list
 * stays in use after its file disappears, until its certificates are removed, so that revoked certificates stay
 * revoked.
 */
import { join } from 'node:path';
import { readBoundedFile } from '../../declaration/bounded-file.ts';
import { timestamp, type Clock } from '../../lib/clock.ts';
import { CERTIFICATE_NAME_PATTERN } from '../../model/patterns.ts';
import type { Logger } from '../../observe/log.ts';
import type { CertificateFacts } from '../../proxy/downstream/tls/tls-certificate.ts';
import { readRevocationLists } from '../../x509/revocation-list.ts';
import { readTrustBundle, type TrustBundle, type TrustFiles } from '../../x509/trust-bundle.ts';
import { certificateProblems, CertificateReminder, problemText } from './certificate-ends.ts';
import { CERT_END, CertificateFolder, GONE, stampOf } from './certificate-folder.ts';

const CRL_END = '.crl';
const NAME = new RegExp(CERTIFICATE_NAME_PATTERN);
const TRUST_BUNDLES_MAX = 200;
const FILE_BYTES_MAX = 2_097_152;
const UNREADABLE = new Uint8Array(0);

export interface TrustWatchDeps {
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Sends the files to their users; resolves when they decide requests. */
type Publish = (files: ReadonlyMap<string, TrustFiles>) => Promise<void>;

interface Entry {
  readonly files: TrustFiles;
  readonly bundle: TrustBundle;
}

export class TrustWatch {
  readonly #deps: TrustWatchDeps;
  readonly #reminder: CertificateReminder;
  readonly #entries = new Map<string, Entry>();
  /** State of the files when they were read last, by name. */
  readonly #stamps = new Map<string, string>();
  readonly #overdue = new Set<string>();
  /** Watches the folder and logs complaints about its files. */
  readonly #folder: CertificateFolder;
  #publish: Publish | undefined;

  constructor(deps: TrustWatchDeps) {
    this.#deps = deps;
    this.#folder = new CertificateFolder({
      folder: deps.folder,
      look: () => this.#look(),
      tell: (file, reason) => this.#tell(file, reason),
    });
    this.#reminder = new CertificateReminder(deps.clock, deps.log, 'clients');
  }

  get files(): ReadonlyMap<string, TrustFiles> {
    return new Map([...this.#entries].map(([name, { files }]) => [name, files]));
  }

  /** For each bundle, the certificate that expires first; if all have expired, the one that expired last. */
  get facts(): readonly CertificateFacts[] {
    const nowMs = this.#deps.clock.nowMs();
    return [...this.#entries].map(([name, { bundle }]) => {
      const byEnd = bundle.certificates.toSorted((a, b) => a.expiresAtMs - b.expiresAtMs);
      const next = byEnd.find(({ expiresAtMs }) => expiresAtMs > nowMs) ?? byEnd.at(-1);
      const { validFromMs = 0, expiresAtMs = 0 } = next ?? {};
      return { names: [name], validFromMs, expiresAtMs };
    });
  }

  /** A text about invalid files and expired certificates; undefined when there are none. */
  get problem(): string | undefined {
    const found = [...this.#entries.keys()]
      .map((name) => this.problemOf(name))
      .filter((each) => each !== undefined);
    return found.length === 0 ? undefined : found.join('. ');
  }

  /** Texts about unusable files. */
  get unusable(): readonly string[] {
    return [...this.#folder.complaints].map(([file, reason]) => this.#unusableText(file, reason));
  }

  /** Lists whose next update is overdue. */
  get overdue(): readonly { readonly name: string; readonly sinceMs: number }[] {
    const nowMs = this.#deps.clock.nowMs();
    return [...this.#entries.keys()].flatMap((name) => {
      const sinceMs = this.#overdueSince(name, nowMs);
      return sinceMs === undefined ? [] : [{ name, sinceMs }];
    });
  }

  /** The earliest next update of a bundle's revocation lists; undefined when none has one. */
  nextUpdateMs(name: string): number | undefined {
    const ends = (this.#entries.get(name)?.bundle.revocations ?? []).map(({ nextUpdateMs }) => nextUpdateMs);
    const first = Math.min(...ends);
    return Number.isFinite(first) ? first : undefined;
  }

  /** A text about problems with one bundle; undefined when there are none. */
  problemOf(name: string): string | undefined {
    const nowMs = this.#deps.clock.nowMs();
    const found: string[] = [];
    for (const file of [name + CERT_END, name + CRL_END]) {
      const complaint = this.#folder.complaints.get(file);
      if (complaint !== undefined) found.push(this.#unusableText(file, complaint));
    }
    const facts = this.facts.filter(({ names }) => names[0] === name);
    const ends = problemText(certificateProblems(facts, nowMs), 'clients');
    if (ends !== undefined) found.push(ends);
    const overdueMs = this.#overdueSince(name, nowMs);
    if (overdueMs !== undefined)
      found.push(`The next update of a revocation list of "${name}" was due at ${timestamp(overdueMs)}`);
    return found.length === 0 ? undefined : found.join('. ');
  }

  start(publish: Publish): void {
    this.#publish = publish;
    this.#folder.start(() => this.#remind());
  }

  stop(): Promise<void> {
    return this.#folder.stop();
  }

  /** Reads the files again, whether or not they changed. */
  reload(): Promise<void> {
    return this.#folder.reload(() => this.#stamps.clear());
  }

  /** Reads the files that have changed; never rejects. */
  check(): Promise<void> {
    return this.#folder.check();
  }

  async #look(): Promise<void> {
    const names = await this.#names();
    const changed: string[] = [];
    for (const name of names) if (await this.#read(name)) changed.push(name);
    for (const name of [...this.#entries.keys()].filter((known) => !names.includes(known))) {
      this.#entries.delete(name);
      changed.push(name);
    }
    for (const known of this.#stamps.keys()) if (!names.includes(known)) this.#forget(known);
    if (changed.length === 0) return;
    await this.#publish?.(this.files);
    const how = this.#publish === undefined ? 'read' : 'reloaded';
    this.#deps.log.info({ trusted: changed }, `trusted certificates for clients were ${how}`);
  }

  #forget(name: string): void {
    this.#stamps.delete(name);
    for (const end of [CERT_END, CRL_END]) this.#folder.complaints.delete(name + end);
    this.#overdue.delete(name);
  }

  async #names(): Promise<readonly string[]> {
    const found = (await this.#folder.files())
      .filter((file) => file.endsWith(CERT_END))
      .map((file) => file.slice(0, -CERT_END.length))
      .filter((name) => NAME.test(name));
    return this.#folder.readNames(found, (name) => this.#entries.has(name), TRUST_BUNDLES_MAX);
  }

  /** Returns whether the content in use has changed. */
  async #read(name: string): Promise<boolean> {
    const [cert, crl] = [CERT_END, CRL_END].map((end) => join(this.#deps.folder, name + end)) as [
      string,
      string,
    ];
    // Before reading: the next check then sees a change made meanwhile.
    const stamps = await Promise.all([cert, crl].map(stampOf));
    const stamp = stamps.join(' ');
    if (this.#stamps.get(name) === stamp) return false;
    this.#stamps.set(name, stamp);
    const known = this.#entries.get(name);
    const revocations = this.#readLists(name, crl, stamps[1] !== GONE, known?.files.revocations);
    const certificates = this.#readCertificates(name, cert) ?? known?.files.certificates;
    if (certificates === undefined) return false;
    const files = { certificates, revocations };
    const bundle = readTrustBundle(files);
    // It was valid by itself.
    if ('error' in bundle) return false;
    const isSame =
      known?.files.certificates === certificates && isEqual(known.files.revocations, revocations);
    if (!isSame) this.#entries.set(name, { files, bundle });
    return !isSame;
  }

  #readCertificates(name: string, path: string): string | undefined {
    const read = readBoundedFile(path, FILE_BYTES_MAX);
    if ('problem' in read) return this.#folder.complain(name + CERT_END, read.problem);
    const certificates = Buffer.from(read.bytes).toString('latin1');
    const bundle = readTrustBundle({ certificates, revocations: undefined });
    if ('error' in bundle) return this.#folder.complain(name + CERT_END, bundle.error);
    this.#folder.complaints.delete(name + CERT_END);
    return certificates;
  }

  #readLists(
    name: string,
    path: string,
    isThere: boolean,
    known: Uint8Array | undefined,
  ): Uint8Array | undefined {
    const file = name + CRL_END;
    if (!isThere && known === undefined) {
      this.#folder.complaints.delete(file);
      return undefined;
    }
    const read = isThere ? readBoundedFile(path, FILE_BYTES_MAX) : { problem: 'it is gone' };
    const lists = 'problem' in read ? { error: read.problem } : readRevocationLists(Buffer.from(read.bytes));
    if ('problem' in read || 'error' in lists) {
      this.#folder.complain(file, (lists as { readonly error: string }).error);
      // Unreadable lists refuse all certificates, as if no issuer had a list.
      return known ?? UNREADABLE;
    }
    this.#folder.complaints.delete(file);
    return new Uint8Array(read.bytes);
  }

  /** When the first overdue list should have been replaced; undefined when none is overdue. */
  #overdueSince(name: string, nowMs: number): number | undefined {
    const first = this.nextUpdateMs(name);
    return first !== undefined && nowMs >= first ? first : undefined;
  }

  #remind(): void {
    this.#reminder.look(this.facts);
    const nowMs = this.#deps.clock.nowMs();
    for (const name of this.#entries.keys()) {
      const sinceMs = this.#overdueSince(name, nowMs);
      if (sinceMs === undefined) this.#overdue.delete(name);
      else if (!this.#overdue.has(name)) {
        this.#overdue.add(name);
        this.#deps.log.warn(
          { trusted: name, due_at: timestamp(sinceMs) },
          'the next update of a revocation list is overdue',
        );
      }
    }
  }

  #tell(file: string, reason: string): void {
    const { log, folder } = this.#deps;
    if (file === '') log.error({ folder, reason }, 'cannot read all of the trusted certificates for clients');
    else
      log.error(
        { file, reason },
        'cannot use a file of trusted certificates; its previous content stays in use',
      );
  }

  #unusableText(file: string, reason: string): string {
    return file === ''
      ? `Cannot read all of the trusted certificates for clients: ${reason}`
      : `Cannot use the file ${file}: ${reason}. ${this.#effectOf(file)}`;
  }

  /** What decides while a file cannot be used. */
  #effectOf(file: string): string {
    const isList = file.endsWith(CRL_END);
    const name = file.slice(0, -(isList ? CRL_END : CERT_END).length);
    const known = this.#entries.get(name)?.files;
    if (known !== undefined && !(isList && known.revocations === UNREADABLE))
      return 'What was read of it before stays in use';
    return `Until it can be used, the client certificates of ${name}${CERT_END} are refused`;
  }
}

function isEqual(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0;
}
