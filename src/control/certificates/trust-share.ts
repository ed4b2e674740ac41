/**
 * Compares the files for the verification of client certificates of all gateways on one database. Without this, a
 * gateway that lacks a revocation list would accept certificates that the others refuse, and only its clients would
 * notice. Answers are reused for a moment.
 */
import type { Logger } from '../../observe/log.ts';
import { createHash } from 'node:crypto';
import type { TrustFiles } from '../../x509/trust-bundle.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { PeerQuestions, type PeerAnswers } from '../cluster/peer-questions.ts';
import { RecentResults } from '../cluster/recent-results.ts';
import type { TrustDigests, TrustOfGateway } from './trust-needs.ts';

const REUSE_MS = 1_000;

export interface TrustShareDeps {
  readonly cluster: Pick<Cluster, 'selfId' | 'name' | 'peers' | 'send' | 'listen'>;
  readonly log: Pick<Logger, 'error'>;
  /** The files of this gateway. */
  readonly files: () => ReadonlyMap<string, TrustFiles>;
}

export class TrustShare {
  readonly #deps: TrustShareDeps;
  readonly #questions: PeerQuestions;
  readonly #answers = new RecentResults<PeerAnswers>(REUSE_MS, 1);
  /** Digests are computed once for each state of the files. */
  readonly #digests = new WeakMap<object, string>();

  constructor(deps: TrustShareDeps) {
    this.#deps = deps;
    const answer = async (): Promise<string> =>
      Buffer.from(JSON.stringify(this.own), 'utf8').toString('base64url');
    this.#questions = new PeerQuestions({ ...deps, kind: 'trust', answer });
  }

  get own(): TrustOfGateway {
    const files: Record<string, TrustDigests[string]> = {};
    for (const [name, each] of this.#deps.files()) {
      const { certificates, revocations } = each;
      const lists = revocations === undefined ? null : this.#digestOf(revocations, revocations);
      files[name] = { certificates: this.#digestOf(each, certificates), lists };
    }
    return { node: this.#deps.cluster.name, files };
  }

  /** This gateway first, then those that have answered. */
  async all(): Promise<readonly TrustOfGateway[]> {
    const { texts } = await this.#answers.of('', () => this.#questions.ask('now'));
    const others = [...texts.values()].map(decoded).filter((each) => each !== undefined);
    return [this.own, ...others.sort((a, b) => (a.node < b.node ? -1 : 1))];
  }

  #digestOf(owner: object, content: string | Uint8Array): string {
    let digest = this.#digests.get(owner);
    if (digest === undefined) {
      digest = createHash('sha256').update(content).digest('base64url').slice(0, 16);
      this.#digests.set(owner, digest);
    }
    return digest;
  }
}

/** undefined when the answer comes from a gateway of another release. */
function decoded(text: string): TrustOfGateway | undefined {
  try {
    const { node, files } = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as TrustOfGateway;
    const all = Object.values(files);
    const isKnown = all.every(
      (each) => isText(each.certificates) && (each.lists === null || isText(each.lists)),
    );
    return isText(node) && isKnown ? { node, files } : undefined;
  } catch {
    return undefined;
  }
}

const isText = (value: unknown): boolean => typeof value === 'string';
