/**
 * The states of all gateways on one database. An answer is reused for a moment, so that any number of browsers cost
 * each gateway only one answer in that time.
 */
import type { Logger } from '../../observe/log.ts';
import type { GatewayState, NodeState } from '../../management/schemas/overview/state-schema.ts';
import { decodedState, encodedState } from '../../management/schemas/overview/state-wire.ts';
import type { Cluster } from './cluster.ts';
import { PeerQuestions, type PeerAnswers } from './peer-questions.ts';
import { RecentResults } from './recent-results.ts';

const REUSE_MS = 1_000;

export interface StateShareDeps {
  readonly cluster: Pick<Cluster, 'selfId' | 'name' | 'peers' | 'send' | 'listen'>;
  readonly log: Pick<Logger, 'error'>;
  /** The state of this gateway. */
  readonly own: () => Promise<GatewayState>;
  /** Names of recently dead gateways, as far as this one knows. */
  readonly vanished: () => readonly string[];
}

export class StateShare {
  readonly #deps: StateShareDeps;
  readonly #questions: PeerQuestions;
  readonly #own = new RecentResults<GatewayState>(REUSE_MS, 1);
  readonly #answers = new RecentResults<PeerAnswers>(REUSE_MS, 1);

  constructor(deps: StateShareDeps) {
    this.#deps = deps;
    const answer = async (): Promise<string> =>
      encodedState({ node: deps.cluster.name, state: await this.#state() });
    this.#questions = new PeerQuestions({ ...deps, kind: 'state', answer });
  }

  /** This gateway first, then the others by name. */
  async read(): Promise<readonly NodeState[]> {
    const { cluster, vanished } = this.#deps;
    const [state, { peers, texts }] = await Promise.all([
      this.#state(),
      this.#answers.of('', () => this.#questions.ask('now')),
    ]);
    const others = new Map<string, GatewayState | null>();
    for (const name of [...vanished(), ...peers.map((peer) => peer.name)]) others.set(name, null);
    for (const text of texts.values()) {
      const told = decodedState(text);
      if (told !== undefined) others.set(told.node, told.state);
    }
    others.delete(cluster.name);
    const names = [...others.keys()].sort();
    return [
      { node: cluster.name, is_self: true, state },
      ...names.map((node) => ({ node, is_self: false, state: others.get(node) ?? null })),
    ];
  }

  #state(): Promise<GatewayState> {
    return this.#own.of('', this.#deps.own);
  }
}
