/**
 * The files that the connections to collectors need: authorities, and a certificate with its key that the gateway
 * presents. They are checked and read before a start changes anything, and again when they change.
 */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { messageOf, systemReason, tlsWords } from '../../lib/error-message.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../observe/log.ts';
import type { OtelConnection } from '../../settings/settings-types.ts';
import type { ConnectionStart, Signal } from '../../telemetry/export/export-messages.ts';
import { certificateFacts, type CertificateFacts } from '../../proxy/downstream/tls/tls-certificate.ts';
import { isCertificateText } from '../../x509/certificate.ts';
import { CertificateReminder } from '../certificates/certificate-ends.ts';
import type { UnusableFiles } from '../certificates/certificates.ts';
import { FileWatch } from '../certificates/file-watch.ts';

/** Paths. */
export interface NamedFiles {
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
}

export interface FileProblem {
  /** A sentence without its end, with the setting and the path. */
  readonly problem: string;
  /** Whether the file could be read. */
  readonly isRead: boolean;
  readonly cause: unknown;
}

export function readConnectionFiles(
  signal: string,
  { caFile, certFile, keyFile }: NamedFiles,
): Pick<ConnectionStart, 'ca' | 'cert' | 'key'> | FileProblem {
  const named = (name: string, path: string | undefined): string =>
    `GATEWAY_OTEL__${name}, or GATEWAY_OTEL__${signal.toUpperCase()}_${name}, ${JSON.stringify(path)}`;
  const contents: (string | undefined)[] = [];
  const files = [
    ['CA_FILE', caFile],
    ['CLIENT_CERT_FILE', certFile],
    ['CLIENT_KEY_FILE', keyFile],
  ] as const;
  for (const [name, path] of files) {
    try {
      contents.push(path === undefined ? undefined : readFileSync(path, 'utf8'));
    } catch (error) {
      const problem = `Cannot read ${named(name, path)}: ${systemReason(error)}`;
      return { problem, isRead: false, cause: error };
    }
  }
  const [ca, cert, key] = contents;
  const unusable = (name: string, path: string | undefined, why: string, cause?: unknown): FileProblem => ({
    problem: `Cannot use ${named(name, path)}: ${why}`,
    isRead: true,
    cause,
  });
  if (ca !== undefined && !isCertificateText(ca)) {
    return unusable('CA_FILE', caFile, 'expected certificates in PEM');
  }
  const ofCertificate = refusalOf({ cert });
  if (ofCertificate !== undefined) {
    return unusable('CLIENT_CERT_FILE', certFile, tlsWords(messageOf(ofCertificate)), ofCertificate);
  }
  const ofKey = refusalOf({ cert, key });
  if (ofKey !== undefined) return unusable('CLIENT_KEY_FILE', keyFile, tlsWords(messageOf(ofKey)), ofKey);
  return { ca, cert, key };
}

export type Connections = Readonly<Record<Signal, ConnectionStart>>;

/** The connections with the content of their files. */
export function readConnections(all: Readonly<Record<Signal, OtelConnection>>): Connections | FileProblem {
  const read: Partial<Record<Signal, ConnectionStart>> = {};
  for (const signal of ['traces', 'metrics', 'logs'] as const) {
    const { caFile: _ca, certFile: _cert, keyFile: _key, ...rest } = all[signal];
    const files = readConnectionFiles(signal, all[signal]);
    if ('problem' in files) return files;
    read[signal] = { ...rest, ...files };
  }
  return read as Connections;
}

export interface CollectorFilesDeps {
  readonly connections: Readonly<Record<Signal, OtelConnection>>;
  /** The result of `readConnections`. */
  readonly read: Connections;
  /** Later exports use the new connections. */
  readonly publish: (connections: Connections) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

export class CollectorFilesWatch {
  readonly #deps: CollectorFilesDeps;
  readonly #files: FileWatch;
  readonly #reminder: CertificateReminder;
  #inUse: string;
  #facts: readonly CertificateFacts[];

  constructor(deps: CollectorFilesDeps) {
    const { connections, read, clock, log } = deps;
    const named = Object.values(connections).flatMap(({ caFile, certFile, keyFile }) => [
      caFile,
      certFile,
      keyFile,
    ]);
    this.#deps = deps;
    this.#inUse = JSON.stringify(read);
    this.#facts = factsOf(read);
    this.#reminder = new CertificateReminder(clock, log, 'collectors');
    this.#files = new FileWatch({
      paths: [...new Set(named.filter((path) => path !== undefined))],
      load: async () => this.#load(),
      onFailed: (reason) =>
        log.error({ reason }, 'cannot use the new files for a collector; the old ones stay in use'),
      clock,
    });
  }

  /** Of the client certificates in use. */
  get facts(): readonly CertificateFacts[] {
    return this.#facts;
  }

  get unusable(): readonly UnusableFiles[] {
    const { failed } = this.#files;
    if (failed === undefined) return [];
    return [
      {
        text: `${failed.reason}. The previous content stays in use, and a restart would fail`,
        sinceMs: failed.sinceMs,
      },
    ];
  }

  start(): void {
    this.#files.start(() => this.#reminder.look(this.#facts));
  }

  stop(): Promise<void> {
    return this.#files.stop();
  }

  reload(): Promise<void> {
    return this.#files.reload();
  }

  #load(): string | undefined {
    const read = readConnections(this.#deps.connections);
    if ('problem' in read) return read.problem;
    const text = JSON.stringify(read);
    if (text === this.#inUse) return undefined;
    this.#deps.publish(read);
    this.#inUse = text;
    this.#facts = factsOf(read);
    this.#deps.log.info('the files for collectors were reloaded');
    return undefined;
  }
}

/** Each certificate once, although most are for all signals. */
function factsOf(connections: Connections): CertificateFacts[] {
  const keys = new Map<string, string>();
  for (const { cert, key } of Object.values(connections))
    if (cert !== undefined && key !== undefined) keys.set(cert, key);
  return Array.from(keys, ([cert, key]) => certificateFacts({ cert, key })).flatMap((facts) =>
    'error' in facts ? [] : [facts],
  );
}

/** The error of OpenSSL for a certificate or key; undefined if they can be used, or there are none. */
function refusalOf(pair: { readonly cert: string | undefined; readonly key?: string | undefined }): unknown {
  if (pair.cert === undefined) return undefined;
  try {
    createSecureContext(pair);
    return undefined;
  } catch (error) {
    return error;
  }
}
