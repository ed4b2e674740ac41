/**
 * The certificates of both listeners, the client certificates for backends, and the authorities that client
 * certificates are verified with: reads them at the start, watches them, and publishes changes.
 */
import { readdir } from 'node:fs/promises';
import type { Parts } from './parts.ts';
import { startError, StartError } from './start-error.ts';
import type { CertificateUse, ListenerName } from '../control/certificates/certificate-ends.ts';
import {
  CertificateWatch,
  loadCertificates,
  type CertificateFiles,
  type LoadedCertificates,
  type UnusableFiles,
} from '../control/certificates/certificates.ts';
import { ClientCertificateWatch } from '../control/certificates/client-certificates.ts';
import { TrustWatch } from '../control/certificates/trust-watch.ts';
import type { CollectorFilesWatch } from '../control/reporting/collector-files.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { CertificateFacts, CertificatePair } from '../proxy/downstream/tls/tls-certificate.ts';
import type { Settings } from '../settings/settings.ts';
import type { TrustFiles } from '../x509/trust-bundle.ts';

/** Certificates by listener; undefined without TLS. */
export interface ReadCertificates extends Readonly<Record<ListenerName, LoadedCertificates | undefined>> {
  /** undefined when there is no folder of client certificates for backends. */
  readonly backends: ClientCertificateWatch | undefined;
  /** undefined when there is no folder of authorities. */
  readonly clients: TrustWatch | undefined;
}

/** @throws StartError with the unusable file */
export async function readCertificates(
  settings: Settings,
  clock: Clock,
  log: Logger,
): Promise<ReadCertificates> {
  const read = async (listener: ListenerName): Promise<LoadedCertificates | undefined> => {
    const files = filesOf(settings, listener);
    if (files === undefined) return undefined;
    const loaded = await loadCertificates(files, listener);
    if ('error' in loaded) throw new StartError(loaded.error);
    return loaded;
  };
  const backends = await readClientCertificates(settings, clock, log);
  const clients = await readTrusted(settings, clock, log);
  return { traffic: await read('traffic'), management: await read('management'), backends, clients };
}

async function readTrusted(
  { proxy: { clientCas: folder } }: Settings,
  clock: Clock,
  log: Logger,
): Promise<TrustWatch | undefined> {
  if (folder === undefined) return undefined;
  await refuseUnreadable(folder, 'GATEWAY_PROXY__CLIENT_CAS');
  const watch = new TrustWatch({ folder, clock, log });
  await watch.check();
  return watch;
}

async function refuseUnreadable(folder: string, setting: string): Promise<void> {
  try {
    await readdir(folder);
  } catch (error) {
    throw startError(`Cannot read the folder of ${setting} "${folder}"`, error);
  }
}

async function readClientCertificates(
  { proxy: { clientCertificates: folder } }: Settings,
  clock: Clock,
  log: Logger,
): Promise<ClientCertificateWatch | undefined> {
  if (folder === undefined) return undefined;
  await refuseUnreadable(folder, 'GATEWAY_PROXY__CLIENT_CERTIFICATES');
  const watch = new ClientCertificateWatch({ folder, clock, log });
  await watch.check();
  return watch;
}

function filesOf(
  { proxy, server }: Settings,
  listener: ListenerName,
): readonly CertificateFiles[] | undefined {
  if (listener === 'traffic') return proxy.tls;
  return server.tls && [server.tls];
}

/** Functions that send new certificates to their users; they resolve when new handshakes use them. */
export interface PublishCertificates {
  traffic(pairs: readonly CertificatePair[]): Promise<void>;
  management(pairs: readonly CertificatePair[]): Promise<void>;
  backends(pairs: ReadonlyMap<string, CertificatePair>): Promise<void>;
  clients(files: ReadonlyMap<string, TrustFiles>): Promise<void>;
}

export class CertificateWatches {
  readonly #listeners: Partial<Record<ListenerName, CertificateWatch>> = {};
  readonly #backends: ClientCertificateWatch | undefined;
  readonly #collectors: Pick<CollectorFilesWatch, 'facts'> | undefined;
  /** undefined when there is no folder of authorities. */
  readonly trust: TrustWatch | undefined;
  readonly #publish: PublishCertificates;

  constructor(
    { settings, clock, log, collectorFiles }: Parts,
    read: ReadCertificates,
    publish: PublishCertificates,
  ) {
    this.#collectors = collectorFiles;
    this.#backends = read.backends;
    this.trust = read.clients;
    this.#publish = publish;
    for (const listener of ['traffic', 'management'] as const) {
      const loaded = read[listener];
      const files = filesOf(settings, listener);
      if (loaded === undefined || files === undefined) continue;
      this.#listeners[listener] = new CertificateWatch({
        files,
        listener,
        loaded,
        clock,
        log,
        publish: (pairs) => publish[listener](pairs),
      });
    }
  }

  /** Facts by listener; `backends` and `collectors` have the client certificates for them. */
  get facts(): Readonly<Record<string, readonly CertificateFacts[]>> {
    const { traffic, management } = this.#listeners;
    return {
      ...(traffic && { traffic: traffic.facts }),
      ...(management && { management: management.facts }),
      ...(this.#backends && { backends: this.#backends.facts }),
      ...(this.trust && { clients: this.trust.facts }),
      ...(this.#collectors && { collectors: this.#collectors.facts }),
    };
  }

  /** A text about certificates that have expired or are not valid yet; undefined when all are valid. */
  get problem(): string | undefined {
    const problems = this.#all.map(({ problem }) => problem).filter((problem) => problem !== undefined);
    return problems.length === 0 ? undefined : problems.join('. ');
  }

  /** New files that cannot be used, by the use of their certificates. */
  get unusable(): readonly (UnusableFiles & { readonly use: CertificateUse })[] {
    const { traffic, management } = this.#listeners;
    return Object.entries({ traffic, management, backends: this.#backends }).flatMap(([use, watch]) =>
      (watch?.unusable ?? []).map((files) => ({ ...files, use: use as CertificateUse })),
    );
  }

  /** Whether any certificate is configured. */
  get hasAny(): boolean {
    return this.#all.length > 0;
  }

  start(): void {
    for (const watch of Object.values(this.#listeners)) watch.start();
    this.#backends?.start((pairs) => this.#publish.backends(pairs));
    this.trust?.start((files) => this.#publish.clients(files));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((watch) => watch.stop()));
  }

  /** Reads the files again, whether or not they changed. */
  async reload(): Promise<void> {
    await Promise.all(this.#all.map((watch) => watch.reload()));
  }

  get #all(): readonly (CertificateWatch | ClientCertificateWatch | TrustWatch)[] {
    const listeners = Object.values(this.#listeners);
    return [...listeners, ...[this.#backends, this.trust].filter((watch) => watch !== undefined)];
  }
}

/** All names in the certificates of one listener, or of `backends`. */
export function namesOf({ facts }: Pick<CertificateWatches, 'facts'>, use: CertificateUse): string[] {
  return (facts[use] ?? []).flatMap(({ names }) => names);
}
