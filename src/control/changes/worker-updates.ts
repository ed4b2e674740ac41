/**
 * What the workers get besides the configuration: certificates, files that verify clients, session ticket keys, and
 * targets that were discovered. Owns what of it a worker that starts is given.
 *
 * Each update resolves when every worker uses it, for new handshakes or requests. A worker that fails is ended, since
 * it would continue to use what was replaced.
 */
import type { OrderedChange } from '../../proxy/downstream/tls/ordered-certificates.ts';
import { newTicketKeys } from '../certificates/ticket-keys.ts';
import type { ConfigState } from '../cluster/config-state.ts';
import type { ToWorker, WorkerStart } from '../workers/protocol.ts';

type Kept = 'certificates' | 'clientCertificates' | 'trusted' | 'ticketKeys';

/** What is known when the gateway starts. */
export type FirstUpdates = Pick<WorkerStart, Exclude<Kept, 'ticketKeys'>>;

interface WorkerUpdatesDeps {
  readonly first: FirstUpdates;
  readonly state: Pick<ConfigState, 'discoveredEntries'>;
  /** Sends a message to every worker; resolves when each has obeyed or is ended, which is logged with the complaint. */
  follow(message: (id: number) => ToWorker, complaint: string): Promise<void>;
}

export class WorkerUpdates {
  readonly #deps: WorkerUpdatesDeps;
  #kept: Pick<WorkerStart, Kept>;

  constructor(deps: WorkerUpdatesDeps) {
    this.#deps = deps;
    const { certificates, clientCertificates, trusted } = deps.first;
    this.#kept = { certificates, clientCertificates, trusted, ticketKeys: newTicketKeys() };
  }

  /** For a worker that starts. */
  get kept(): Pick<WorkerStart, Kept> {
    return this.#kept;
  }

  /** @param certificates of the traffic listener */
  async setCertificates(certificates: NonNullable<WorkerStart['certificates']>): Promise<void> {
    this.#kept = { ...this.#kept, certificates };
    await this.#deps.follow(
      (id) => ({ type: 'certificates', id, certificates }),
      'a proxy worker failed to load new certificates',
    );
  }

  /** @param pairs the certificates for backends */
  async setClientCertificates(pairs: WorkerStart['clientCertificates']): Promise<void> {
    this.#kept = { ...this.#kept, clientCertificates: pairs };
    await this.#deps.follow(
      (id) => ({ type: 'client_certificates', id, pairs }),
      'a proxy worker failed to load client certificates',
    );
  }

  /** @param files for the verification of client certificates */
  async setTrusted(files: WorkerStart['trusted']): Promise<void> {
    this.#kept = { ...this.#kept, trusted: files };
    await this.#deps.follow(
      (id) => ({ type: 'trusted', id, files }),
      'a proxy worker failed to load trusted certificates',
    );
  }

  async setTicketKeys(ticketKeys: Uint8Array): Promise<void> {
    this.#kept = { ...this.#kept, ticketKeys };
    await this.#deps.follow(
      (id) => ({ type: 'ticket_keys', id, ticketKeys }),
      'a proxy worker failed to load new session ticket keys',
    );
  }

  /** Sends changes of ordered certificates. A worker that starts is given those of its time. */
  async setOrdered(change: OrderedChange): Promise<void> {
    await this.#deps.follow(
      (id) => ({ type: 'ordered_certificates', id, change }),
      'a proxy worker failed to load ordered certificates',
    );
  }

  /**
   * Sends the results of discovery for some revisions. A worker that starts gets them with the configuration.
   * @param found the pools of each revision whose target is gone
   */
  async setTargets(found: ReadonlyMap<string, readonly string[]>): Promise<void> {
    const targets = this.#deps.state.discoveredEntries([...found.keys()]);
    const endedPools = [...new Set([...found.values()].flat())];
    await this.#deps.follow(
      (id) => ({ type: 'targets', id, targets, endedPools }),
      'a proxy worker failed to load discovered targets',
    );
  }
}
