/**
 * Membership of one gateway among the gateways on a Postgres database. It owns a connection that listens for
 * notifications, and the gateway's row. A periodic heartbeat on the connection shows that the gateway lives, finds
 * changes whose notification was missed, and checks the connection. A lost connection is replaced after waits that
 * grow; the next heartbeat reads the current state, so nothing is missed.
 *
 * Its listener decides what to do with changes.
 */
import { PostgresClient } from './postgres-client.ts';
import { mapPostgresError } from './postgres-errors.ts';
import {
  beatQuery,
  channelsQuery,
  leaveQuery,
  keyIdsOf,
  keysFit,
  otherKeysQuery,
  type NodeKeys,
  parseNotice,
  type Beat,
} from './postgres-nodes.ts';
import type { PostgresAddress } from './postgres-tls.ts';
import type { Membership, MembershipEvents, NodeDescription } from '../repository.ts';
import { StorageRefused } from '../storage-errors.ts';

const RECONNECT_MS = 100;
const RECONNECT_MS_MAX = 2_000;

export interface MembershipOptions {
  readonly address: PostgresAddress;
  readonly node: NodeDescription;
  readonly secretKeyIds: readonly string[];
  readonly events: MembershipEvents;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
}

export class PostgresMembership implements Membership {
  readonly #options: MembershipOptions;
  #client: PostgresClient | undefined;
  #applied: number;
  /** The version last announced to the others on this connection. */
  #told: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #failures = 0;
  #left = false;

  /** @param configVersion the version that the gateway serves now */
  constructor(options: MembershipOptions, configVersion: number) {
    this.#options = options;
    this.#applied = configVersion;
  }

  /**
   * Sends the first heartbeat.
   * @throws StorageUnavailable; StorageRefused if other gateways use another key
   */
  async join(): Promise<void> {
    try {
      await this.#connect();
      await this.#beat();
      await this.#assertKeysFit();
    } catch (error) {
      await this.leave();
      throw mapPostgresError(error);
    }
    this.#wait(this.#options.node.heartbeatMs);
  }

  applied(configVersion: number): void {
    this.#applied = configVersion;
    // A heartbeat under way may carry the previous version: another one follows it.
    if (this.#working === undefined && !this.#left) this.#work();
  }

  async leave(): Promise<void> {
    this.#left = true;
    clearTimeout(this.#timer);
    await this.#working;
    const client = this.#client;
    this.#client = undefined;
    if (client === undefined || client.isLost) return;
    const { node, connectTimeoutMs, statementTimeoutMs } = this.#options;
    const { text, values } = leaveQuery(node.id);
    await client.query(text, values, statementTimeoutMs).catch(() => undefined);
    await client.end(connectTimeoutMs);
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer);
    if (!this.#left) this.#timer = setTimeout(() => this.#work(), ms);
  }

  /** Sends a heartbeat, on a new connection if necessary; never two at once. */
  #work(): void {
    if (this.#working !== undefined || this.#left) return;
    clearTimeout(this.#timer);
    this.#working = this.#tryBeat().then((works) => {
      this.#working = undefined;
      const { heartbeatMs } = this.#options.node;
      if (!works) this.#wait(Math.min(RECONNECT_MS * 2 ** (this.#failures - 1), RECONNECT_MS_MAX));
      else if (this.#told === this.#applied) this.#wait(heartbeatMs);
      else this.#work();
    });
  }

  /** Never rejects. */
  async #tryBeat(): Promise<boolean> {
    const { events } = this.#options;
    try {
      if (this.#client === undefined || this.#client.isLost) await this.#connect();
      await this.#beat();
      if (this.#failures > 0) events.onBack();
      this.#failures = 0;
      return true;
    } catch (error) {
      // Stop listening for the end of this connection: after a failure the next attempt has to wait.
      const client = this.#client;
      this.#client = undefined;
      client?.drop();
      this.#failures += 1;
      const failure = mapPostgresError(error);
      if (this.#failures === 1) events.onLost(failure);
      events.onMissed(failure);
      return false;
    }
  }

  async #connect(): Promise<void> {
    const { address, node, connectTimeoutMs, statementTimeoutMs } = this.#options;
    const client = new PostgresClient(address);
    this.#client = client;
    this.#told = undefined;
    await client.connect(connectTimeoutMs);
    client.onNotification((payload) => this.#hear(payload));
    client.onEnd(() => {
      // Reconnect now, not at the next heartbeat: no notification arrives meanwhile.
      if (this.#client === client) this.#work();
    });
    // Transactions say for themselves that they write, and how long a statement may take; a heartbeat has none.
    const session = `set default_transaction_read_only = off; set statement_timeout = ${statementTimeoutMs}`;
    await client.query(session, undefined, statementTimeoutMs);
    const { text, values } = channelsQuery(node.id);
    type Channels = { readonly common: string; readonly own: string };
    const { rows } = await client.query<Channels>(text, values, statementTimeoutMs);
    const { common = '', own = '' } = rows[0] ?? {};
    await client.query(`listen "${common}"; listen "${own}"`, undefined, statementTimeoutMs);
  }

  async #beat(): Promise<void> {
    const { node, secretKeyIds, events, statementTimeoutMs } = this.#options;
    const applied = this.#applied;
    const { text, values } = beatQuery(node, secretKeyIds, applied, this.#told !== applied);
    const { rows } = (await this.#client?.query<Beat>(text, values, statementTimeoutMs)) ?? { rows: [] };
    this.#told = applied;
    const [beat] = rows;
    if (beat === undefined) return;
    events.onNodes({ count: beat.live, rank: beat.before });
    events.onPosition({ configVersion: beat.config_version, changeId: beat.change_id ?? undefined });
  }

  #hear(payload: string): void {
    const notice = parseNotice(payload);
    if (notice === undefined || this.#left) return;
    const { node, events } = this.#options;
    if (notice.kind === 'changed') events.onChanged();
    else if (notice.kind === 'message') events.onMessage(notice.text);
    else if (notice.nodeId !== node.id) events.onApplied(notice.nodeId, notice.configVersion);
  }

  async #assertKeysFit(): Promise<void> {
    const { node, secretKeyIds, statementTimeoutMs } = this.#options;
    const { text, values } = otherKeysQuery(node.id);
    const answer = await this.#client?.query<NodeKeys>(text, values, statementTimeoutMs);
    const other = answer?.rows.find((row) => !keysFit(secretKeyIds, keyIdsOf(row)));
    if (other === undefined) return;
    throw new StorageRefused(
      `Cannot join the gateways on this database: "${other.name}" has a different GATEWAY_SECRET_KEY; expected the same key on every gateway with this database. To change it, first add the new key behind the present one on every gateway`,
    );
  }
}
