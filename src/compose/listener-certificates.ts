/** The certificates of both listeners: read at the start, watched, and handed on when they change. */
import type { Parts } from './parts.ts';
import { StartError } from './start-error.ts';
import type { ListenerName } from '../control/certificates/certificate-ends.ts';
import {
  CertificateWatch,
  loadCertificates,
  type CertificateFiles,
  type LoadedCertificates,
} from '../control/certificates/certificates.ts';
import type { CertificateFacts, CertificatePair } from '../proxy/downstream/tls/tls-certificate.ts';
import type { Settings } from '../settings/settings.ts';

/** By listener; undefined without TLS. */
export type ReadCertificates = Readonly<Record<ListenerName, LoadedCertificates | undefined>>;

/** @throws StartError with the unusable file */
export async function readCertificates(settings: Settings): Promise<ReadCertificates> {
  const read = async (listener: ListenerName): Promise<LoadedCertificates | undefined> => {
    const files = filesOf(settings, listener);
    if (files === undefined) return undefined;
    const loaded = await loadCertificates(files, listener);
    if ('error' in loaded) throw new StartError(loaded.error);
    return loaded;
  };
  return { traffic: await read('traffic'), management: await read('management') };
}

function filesOf(
  { proxy, server }: Settings,
  listener: ListenerName,
): readonly CertificateFiles[] | undefined {
  if (listener === 'traffic') return proxy.tls;
  return server.tls && [server.tls];
}

/** Sends new pairs to a listener; resolves when new handshakes use them. */
type Publish = (pairs: readonly CertificatePair[]) => Promise<void>;

export class CertificateWatches {
  readonly #watches: Partial<Record<ListenerName, CertificateWatch>> = {};

  constructor(
    { settings, clock, log }: Parts,
    read: ReadCertificates,
    publish: Readonly<Record<ListenerName, Publish>>,
  ) {
    for (const listener of ['traffic', 'management'] as const) {
      const loaded = read[listener];
      const files = filesOf(settings, listener);
      if (loaded === undefined || files === undefined) continue;
      this.#watches[listener] = new CertificateWatch({
        files,
        listener,
        loaded,
        clock,
        log,
        publish: publish[listener],
      });
    }
  }

  /** By listener. */
  get facts(): Readonly<Record<string, readonly CertificateFacts[]>> {
    return Object.fromEntries(
      Object.entries(this.#watches).map(([listener, { facts }]) => [listener, facts]),
    );
  }

  /** Problems with the validity periods, in words; undefined without any. */
  get problem(): string | undefined {
    const problems = this.#all.map(({ problem }) => problem).filter((problem) => problem !== undefined);
    return problems.length === 0 ? undefined : problems.join('. ');
  }

  /** Whether there are certificates at all. */
  get hasAny(): boolean {
    return this.#all.length > 0;
  }

  start(): void {
    for (const watch of this.#all) watch.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((watch) => watch.stop()));
  }

  /** Reads the files again, whether or not they changed. */
  async reload(): Promise<void> {
    await Promise.all(this.#all.map((watch) => watch.reload()));
  }

  get #all(): readonly CertificateWatch[] {
    return Object.values(this.#watches);
  }
}
