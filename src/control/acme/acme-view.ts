/**
 * This gateway's view of certificates by ACME: a copy of their rows, updated by revision, and what its workers serve
 * of them. Each gateway creates its own certificates for tls-alpn-01 here. Owns the copy.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../observe/log.ts';
import { certificateFacts, type CertificatePair } from '../../proxy/downstream/tls/tls-certificate.ts';
import type { OrderedChange } from '../../proxy/downstream/tls/ordered-certificates.ts';
import type { AcmeCertificate, AcmeChallenge, AcmeChanges, AcmeStore } from '../../storage/acme-store.ts';
import { challengeCertificate } from './x509.ts';

export interface AcmeViewDeps {
  readonly store: () => AcmeStore;
  /** Sends a change to the workers; resolves when they use it. */
  readonly publish: (change: OrderedChange) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface AcmePause {
  readonly untilMs: number;
  readonly reason: string | undefined;
}

type Served = OrderedChange['certificates'][number];

export class AcmeView {
  readonly #deps: AcmeViewDeps;
  readonly #rows = new Map<string, AcmeCertificate>();
  readonly #served = new Map<string, NonNullable<Served[1]>>();
  #httpAnswers: OrderedChange['httpAnswers'] = [];
  #alpnAnswers = new Map<string, { readonly name: string; readonly pair: CertificatePair }>();
  #revision = 0;
  #pause: AcmePause = { untilMs: 0, reason: undefined };
  #refreshing: Promise<void> | undefined;
  #again: Promise<void> | undefined;

  constructor(deps: AcmeViewDeps) {
    this.#deps = deps;
  }

  get rows(): ReadonlyMap<string, AcmeCertificate> {
    return this.#rows;
  }

  /** The pause that the directory asked for. */
  get pause(): AcmePause {
    return this.#pause;
  }

  /** Everything that a starting worker gets. */
  get whole(): OrderedChange {
    return { certificates: [...this.#served], ...this.#answers };
  }

  get #answers(): Omit<OrderedChange, 'certificates'> {
    const alpnAnswers = [...this.#alpnAnswers.values()].map(({ name, pair }) => [name, pair] as const);
    return { httpAnswers: this.#httpAnswers, alpnAnswers };
  }

  /**
   * Resolves when the workers use everything that was stored before the call.
   * @throws StorageUnavailable
   */
  refresh(): Promise<void> {
    if (this.#refreshing === undefined) {
      this.#refreshing = this.#refresh().finally(() => (this.#refreshing = undefined));
      return this.#refreshing;
    }
    // A refresh under way may have read the database before the call.
    this.#again ??= this.#refreshing
      .catch(() => undefined)
      .then(() => {
        this.#again = undefined;
        return this.refresh();
      });
    return this.#again;
  }

  /** Refreshes if something has changed; cheap otherwise. */
  async look(): Promise<void> {
    if ((await this.#deps.store().revision()) !== this.#revision) await this.refresh();
  }

  /** Removes rows that were deleted. */
  forget(names: readonly string[]): void {
    for (const name of names) this.#rows.delete(name);
  }

  async #refresh(): Promise<void> {
    const store = this.#deps.store();
    let changes = await store.changesSince(this.#revision);
    // The database was replaced, for example by a backup.
    if (changes.revision < this.#revision) changes = await store.changesSince(0);
    if (changes.revision === this.#revision) return;
    await this.#take(changes);
  }

  async #take({
    revision,
    certificates,
    challenges,
    pausedUntilMs,
    pausedReason,
  }: AcmeChanges): Promise<void> {
    // First, as it may fail: what the next refresh would find unchanged must have been published.
    const alpnChallenges = answersOf(challenges, 'tls-alpn-01');
    this.#alpnAnswers = await alpnAnswers(alpnChallenges, this.#alpnAnswers, this.#deps.clock);
    const changed: Served[] = [];
    for (const row of certificates) {
      const before = this.#rows.get(row.name);
      this.#rows.set(row.name, row);
      if (before?.chain === row.chain && before.private_key === row.private_key) continue;
      const served = this.#servable(row);
      if (served === undefined) this.#served.delete(row.name);
      else this.#served.set(row.name, served);
      changed.push([row.name, served]);
    }
    this.#httpAnswers = answersOf(challenges, 'http-01').map((each) => [each.token, each.key_authorization]);
    this.#pause = { untilMs: pausedUntilMs, reason: pausedReason };
    await this.#deps.publish({ certificates: changed, ...this.#answers });
    this.#revision = revision;
  }

  /** undefined when there is no certificate, or it cannot be used. */
  #servable({ name, chain, private_key: key }: AcmeCertificate): Served[1] {
    if (chain === null || key === null) return undefined;
    const facts = certificateFacts({ cert: chain, key });
    if (!('error' in facts)) return { cert: chain, key, expiresAtMs: facts.expiresAtMs };
    this.#deps.log.error({ name, reason: facts.error }, 'an ordered certificate cannot be used');
    return undefined;
  }
}

function answersOf(
  challenges: readonly AcmeChallenge[],
  kind: AcmeChallenge['kind'],
): readonly AcmeChallenge[] {
  return challenges.filter((challenge) => challenge.kind === kind);
}

async function alpnAnswers(
  challenges: readonly AcmeChallenge[],
  known: ReadonlyMap<string, { readonly name: string; readonly pair: CertificatePair }>,
  clock: Clock,
): Promise<Map<string, { readonly name: string; readonly pair: CertificatePair }>> {
  const answers = new Map<string, { readonly name: string; readonly pair: CertificatePair }>();
  for (const { token, name, key_authorization: authorization } of challenges) {
    const pair = known.get(token)?.pair ?? (await challengeCertificate(name, authorization, clock));
    answers.set(token, { name, pair });
  }
  return answers;
}
