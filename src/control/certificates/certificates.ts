/**
 * The certificates of a listener. The main thread reads their files at the start, and again when a file
 * changes (checked once a second by times, inode and size) or on request. A certificate and its key are two files,
 * replaced one after the other: while they do not match, the old pair stays in use, which is logged once, and reading
 * is retried. Owns the pairs in use. No message contains text of a key.
 */
import { readFile } from 'node:fs/promises';
import { timestamp, type Clock } from '../../lib/clock.ts';
import { messageOf, systemReason } from '../../lib/error-message.ts';
import type { Logger } from '../../observe/log.ts';
import {
  CertificateReminder,
  certificateProblems,
  problemText,
  type ListenerName,
} from './certificate-ends.ts';
import { stampOf } from './certificate-folder.ts';
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

/** Interval of checks for changed files. */
const POLL_MS = 1_000;

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
  #loaded: LoadedCertificates;
  /** State of the files that `#loaded` came from; '' if unknown. */
  #stamp = '';
  #lastError = '';
  /** Since when new files have not been usable; undefined when they are. */
  #failingSinceMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;

  constructor(deps: CertificateWatchDeps) {
    this.#deps = deps;
    this.#loaded = deps.loaded;
    this.#reminder = new CertificateReminder(deps.clock, deps.log, deps.listener);
  }

  get facts(): readonly CertificateFacts[] {
    return this.#loaded.facts;
  }

  /** A text about expired or not yet valid certificates; undefined when there are none. */
  get problem(): string | undefined {
    return problemText(certificateProblems(this.facts, this.#deps.clock.nowMs()), this.#deps.listener);
  }

  get unusable(): readonly UnusableFiles[] {
    if (this.#failingSinceMs === undefined) return [];
    const text = `${this.#lastError}. The previous certificates stay in use, and a restart would fail`;
    return [{ text, sinceMs: this.#failingSinceMs }];
  }

  start(): void {
    this.#log('are in use');
    this.#reminder.look(this.facts);
    this.#timer = setInterval(() => {
      this.#reminder.look(this.facts);
      void this.check();
    }, this.#deps.pollMs ?? POLL_MS);
  }

  /** Also waits for a check under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#checking;
  }

  /** Reads the files again, whether or not they changed. */
  async reload(): Promise<void> {
    await this.#checking;
    this.#stamp = '';
    await this.check();
  }

  /** Reads the files if they have changed; never rejects. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => (this.#checking = undefined));
    return this.#checking;
  }

  async #check(): Promise<void> {
    // Computed before reading: the next check then sees a change made meanwhile.
    const stamp = await this.#stampOf();
    if (stamp === this.#stamp) return;
    const loaded = await loadCertificates(this.#deps.files, this.#deps.listener);
    if ('error' in loaded) return this.#fail(loaded.error);
    try {
      if (!isSame(loaded.pairs, this.#loaded.pairs)) {
        await this.#deps.publish(loaded.pairs);
        this.#loaded = loaded;
        this.#log('were reloaded');
      }
    } catch (error) {
      return this.#fail(messageOf(error));
    }
    this.#stamp = stamp;
    this.#lastError = '';
    this.#failingSinceMs = undefined;
  }

  /** The stamp does not change, so the next check tries again. */
  #fail(error: string): void {
    this.#failingSinceMs ??= this.#deps.clock.nowMs();
    if (error === this.#lastError) return;
    this.#lastError = error;
    this.#deps.log.error({ reason: error }, 'cannot use the new certificates; the old ones stay in use');
  }

  async #stampOf(): Promise<string> {
    let stamp = '';
    for (const { certFile, keyFile } of this.#deps.files) {
      for (const path of [certFile, keyFile]) {
        stamp += `${await stampOf(path)} `;
      }
    }
    return stamp;
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
