/**
 * The certificates of a listener. The main thread reads their files at the start, and again when they change
 * (file-watch.ts). While a certificate and its key do not match, the old pair stays in use, which is logged once. Owns
 * the pairs in use. No message contains text of a key.
 */
import { readFile } from 'node:fs/promises';
import { timestamp, type Clock } from '../../lib/clock.ts';
import { systemReason } from '../../lib/error-message.ts';
import type { Logger } from '../../observe/log.ts';
import {
  CertificateReminder,
  certificateProblems,
  problemText,
  type ListenerName,
} from './certificate-ends.ts';
import { FileWatch } from './file-watch.ts';
import {
  certificateFacts,
  type CertificateFacts,
  type CertificatePair,
} from '../../proxy/downstream/tls/tls-certificate.ts';

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface LoadedCertificates {
  readonly pairs: readonly CertificatePair[];
  readonly facts: readonly CertificateFacts[];
}

/** New files that cannot be used, so that the old certificates stay in use. */
export interface UnusableFiles {
  readonly text: string;
  /** Unix milliseconds; undefined when it is not known. */
  readonly sinceMs: number | undefined;
}

/** The settings of each listener's files. */
const SETTINGS = { traffic: 'GATEWAY_PROXY__TLS', management: 'GATEWAY_SERVER__TLS' } as const;

/** All pairs, or an error that names the unusable file. */
export async function loadCertificates(
  files: readonly CertificateFiles[],
  listener: ListenerName,
): Promise<LoadedCertificates | { readonly error: string }> {
  const pairs: CertificatePair[] = [];
  const facts: CertificateFacts[] = [];
  const setting = SETTINGS[listener];
  for (const { certFile, keyFile } of files) {
    const cert = await readPem(`${setting}__CERT_FILE`, certFile);
    if ('error' in cert) return cert;
    const key = await readPem(`${setting}__KEY_FILE`, keyFile);
    if ('error' in key) return key;
    const pair = { cert: cert.text, key: key.text };
    const found = certificateFacts(pair);
    if ('error' in found) {
      const what = `"${certFile}" and "${keyFile}"`;
      return {
        error: `Cannot use the certificate and key of ${setting} together: ${what}: ${found.error}`,
      };
    }
    pairs.push(pair);
    facts.push(found);
  }
  return { pairs, facts };
}

async function readPem(
  name: string,
  path: string,
): Promise<{ readonly text: string } | { readonly error: string }> {
  try {
    return { text: await readFile(path, 'utf8') };
  } catch (error) {
    return { error: `Cannot read ${name} "${path}": ${systemReason(error)}` };
  }
}

export interface CertificateWatchDeps {
  readonly files: readonly CertificateFiles[];
  readonly listener: ListenerName;
  /** The result of `loadCertificates` for the same files. */
  readonly loaded: LoadedCertificates;
  readonly clock: Clock;
  readonly log: Logger;
  /** Sends new pairs to the listener; resolves when new handshakes use them. */
  readonly publish: (pairs: readonly CertificatePair[]) => Promise<void>;
  /** For tests; milliseconds. */
  readonly pollMs?: number;
}

export class CertificateWatch {
  readonly #deps: CertificateWatchDeps;
  readonly #reminder: CertificateReminder;
  readonly #files: FileWatch;
  #loaded: LoadedCertificates;

  constructor(deps: CertificateWatchDeps) {
    const { files, listener, loaded, clock, log, pollMs } = deps;
    this.#deps = deps;
    this.#loaded = loaded;
    this.#reminder = new CertificateReminder(clock, log, listener);
    this.#files = new FileWatch({
      paths: files.flatMap(({ certFile, keyFile }) => [certFile, keyFile]),
      load: () => this.#load(),
      onFailed: (reason) =>
        log.error({ reason }, 'cannot use the new certificates; the old ones stay in use'),
      clock,
      pollMs,
    });
  }

  get facts(): readonly CertificateFacts[] {
    return this.#loaded.facts;
  }

  /** A text about expired or not yet valid certificates; undefined when there are none. */
  get problem(): string | undefined {
    return problemText(certificateProblems(this.facts, this.#deps.clock.nowMs()), this.#deps.listener);
  }

  get unusable(): readonly UnusableFiles[] {
    const { failed } = this.#files;
    if (failed === undefined) return [];
    const text = `${failed.reason}. The previous certificates stay in use, and a restart would fail`;
    return [{ text, sinceMs: failed.sinceMs }];
  }

  start(): void {
    this.#log('are in use');
    this.#reminder.look(this.facts);
    this.#files.start(() => this.#reminder.look(this.facts));
  }

  /** Also waits for a check under way. */
  stop(): Promise<void> {
    return this.#files.stop();
  }

  /** Reads the files again, whether or not they changed. */
  reload(): Promise<void> {
    return this.#files.reload();
  }

  /** Reads the files if they have changed; never rejects. */
  check(): Promise<void> {
    return this.#files.check();
  }

  async #load(): Promise<string | undefined> {
    const loaded = await loadCertificates(this.#deps.files, this.#deps.listener);
    if ('error' in loaded) return loaded.error;
    if (isSame(loaded.pairs, this.#loaded.pairs)) return undefined;
    await this.#deps.publish(loaded.pairs);
    this.#loaded = loaded;
    this.#log('were reloaded');
    return undefined;
  }

  #log(what: string): void {
    const certificates = this.#loaded.facts.map(({ names, expiresAtMs }) => ({
      names,
      expires_at: timestamp(expiresAtMs),
    }));
    this.#deps.log.info({ certificates }, `certificates of the ${this.#deps.listener} listener ${what}`);
  }
}

function isSame(a: readonly CertificatePair[], b: readonly CertificatePair[]): boolean {
  return a.every(({ cert, key }, index) => cert === b[index]?.cert && key === b[index]?.key);
}
