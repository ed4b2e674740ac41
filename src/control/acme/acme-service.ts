/**
 * Certificates by ACME in one gateway: wires together its view of them, the wanted names, and the orders. Loaded
 * only when the settings name a directory.
 */
import { systemCode } from '../../lib/error-message.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import type { Egress } from '../../egress/egress.ts';
import { askSystem } from '../../egress/name-queries.ts';
import type { Clock } from '../../lib/clock.ts';
import type { App } from '../../model/resources.ts';
import type { Logger } from '../../observe/log.ts';
import type { OrderedChange } from '../../proxy/downstream/tls/ordered-certificates.ts';
import type { AcmeSettings } from '../../settings/settings.ts';
import type { AcmeStore } from '../../storage/acme-store.ts';
import { AcmeClient } from './acme-client.ts';
import { AcmeOrders, type OrderResult } from './acme-orders.ts';
import { AcmeView } from './acme-view.ts';
import { DirectoryHttp } from './directory-http.ts';
import { wantedNames, type WantedNames } from './wanted-names.ts';

/** How long an order waits until the other gateways have the answer to its challenge. */
const PEERS_WAIT_MS = 5_000;
const RESOLVE_MS = 5_000;

export interface AcmeServiceDeps {
  readonly settings: AcmeSettings;
  /**
   * PEM of authorities that may have issued the certificate of the directory; undefined: the authorities of
   * Node.js.
   */
  readonly readCa: () => string | undefined;
  /** Throws StorageUnavailable while there is no database. */
  readonly store: () => AcmeStore;
  readonly holder: string;
  readonly leaseMs: number;
  /** Increases when apps change. */
  readonly configVersion: () => number;
  readonly apps: () => Iterable<App>;
  /** Names of the certificates in files. */
  readonly namesInFiles: () => readonly string[];
  readonly publish: (change: OrderedChange) => Promise<void>;
  /** Asks the other gateways to refresh; resolves with the number of gateways that have not answered. */
  readonly askOthers: () => Promise<number>;
  readonly egress: Egress;
  readonly clock: Clock;
  readonly log: Logger;
}

export class AcmeService {
  readonly #deps: AcmeServiceDeps;
  readonly #http: DirectoryHttp;
  #stopped: Promise<void> | undefined;
  readonly #view: AcmeView;
  readonly #orders: AcmeOrders;
  #wanted: { readonly key: string; readonly names: WantedNames } = { key: '', names: new Map() };

  constructor(deps: AcmeServiceDeps) {
    this.#deps = deps;
    const { settings, store, clock, log, egress, holder, leaseMs, publish } = deps;
    this.#http = new DirectoryHttp(egress, deps.readCa);
    this.#view = new AcmeView({ store, publish, clock, log });
    this.#orders = new AcmeOrders({
      settings,
      store,
      holder,
      leaseMs,
      clock,
      log,
      view: this.#view,
      client: new AcmeClient(settings, this.#http, clock),
      wanted: () => this.wanted,
      announce: () => this.announce(),
      check: async (name) => (settings.selfCheck ? addressProblem(name) : undefined),
    });
  }

  get view(): AcmeView {
    return this.#view;
  }

  get results(): ReadonlyMap<OrderResult, number> {
    return this.#orders.results;
  }

  get directoryProblem(): string | undefined {
    return this.#orders.directoryProblem;
  }

  get unopenedReplacedAtMs(): number {
    return this.#orders.unopenedReplacedAtMs;
  }

  get isAtLimit(): boolean {
    return this.#orders.isAtLimit;
  }

  /** The names that should have a certificate. */
  get wanted(): WantedNames {
    const { configVersion, apps, namesInFiles, settings } = this.#deps;
    const inFiles = namesInFiles();
    const key = `${configVersion()} ${inFiles.join(' ')}`;
    if (key !== this.#wanted.key) {
      this.#wanted = { key, names: wantedNames(apps(), { allowed: settings.names, inFiles }) };
    }
    return this.#wanted.names;
  }

  /** Everything that a starting worker gets. */
  get whole(): OrderedChange {
    return this.#view.whole;
  }

  /**
   * Reads the stored state before there is traffic. Does not throw: without a database it is read when the
   * database returns.
   */
  async load(): Promise<void> {
    await this.#view.refresh().catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'certificates of ACME cannot be read yet; trying again');
    });
  }

  start(): void {
    this.#orders.start();
  }

  /** May be called again. A silent directory may take seconds of it. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    // Otherwise the stop would wait for requests under way.
    const stopped = this.#orders.stop();
    await this.#http.close();
    await stopped;
  }

  /** Another gateway or the management API has changed something. */
  look(): Promise<void> {
    return this.#view.refresh();
  }

  /** Resolves when all gateways use the stored state, or some have not answered in time. */
  async announce(): Promise<void> {
    const { clock, askOthers, log } = this.#deps;
    await this.#view.refresh();
    const endMs = clock.monotonicMs() + PEERS_WAIT_MS;
    for (;;) {
      const missing = await askOthers();
      if (missing === 0) return;
      if (clock.monotonicMs() >= endMs) {
        log.warn({ missing }, 'some gateways do not answer; an order continues without them');
        return;
      }
    }
  }
}

async function addressProblem(name: string): Promise<string | undefined> {
  try {
    const found = await withTimeout(RESOLVE_MS, askSystem(name));
    return found === undefined ? 'the address of the name was not found in time' : undefined;
  } catch (error) {
    return `the name has no address (${systemCode(error)}): no order is made for it`;
  }
}
