/**
 * Time series of all gateways on one database. Answers are reused for a moment on both sides, so that any number of
 * browsers cost each gateway only one answer in that time.
 */
import type { Logger } from '../../observe/log.ts';
import { answerQuestion, type StatsQuestion, type StatsReply } from '../../observe/stats/stats-question.ts';
import type { StatsHistory } from '../../observe/stats/stats-history.ts';
import {
  alignedTo,
  answerText,
  parseAnswer,
  parseQuestion,
  questionText,
  wireQuestion,
  type WireFindings,
  type WireQuestion,
} from '../../observe/stats/stats-wire.ts';
import type { StatsGrid } from '../../observe/stats/stats-window.ts';
import type { SharedReplies } from '../../management/stats/stats-access.ts';
import type { Cluster } from './cluster.ts';
import { PeerQuestions } from './peer-questions.ts';
import { RecentResults } from './recent-results.ts';

/** How long an answer is reused. */
const REUSE_MS = 1_000;
const RESULTS_MAX = 64;
/** Limit of the difference between the ends of the gateways' series; beyond it, clocks differ. */
const LAG_SECS_MAX = 10;

export interface StatsShareDeps {
  readonly cluster: Pick<Cluster, 'selfId' | 'name' | 'peers' | 'send' | 'listen'>;
  readonly log: Pick<Logger, 'error'>;
  readonly stats: StatsHistory;
  /** Names of recently dead gateways, as far as this one knows. */
  readonly vanished: () => readonly string[];
}

interface PeerReply {
  readonly name: string;
  readonly answer: WireFindings | undefined;
}

export class StatsShare {
  readonly #deps: StatsShareDeps;
  readonly #questions: PeerQuestions;
  readonly #replies: RecentResults<readonly PeerReply[]>;
  readonly #texts: RecentResults<string>;

  constructor(deps: StatsShareDeps) {
    this.#deps = deps;
    this.#replies = new RecentResults(REUSE_MS, RESULTS_MAX);
    this.#texts = new RecentResults(REUSE_MS, RESULTS_MAX);
    const answer = async (text: string): Promise<string | undefined> => this.#answer(text);
    this.#questions = new PeerQuestions({ ...deps, kind: 'stats', answer });
  }

  /** Never takes much longer than the wait for other gateways; those that do not answer have no findings. */
  async ask(question: StatsQuestion): Promise<SharedReplies> {
    const { cluster, stats } = this.#deps;
    const peers = await this.#askPeers(wireQuestion(question));
    const ends = peers.flatMap(({ answer }) => (answer === undefined ? [] : [answer.toSecs]));
    const ownEnd = stats.clock.unixSecs(stats.closedSecond + 1);
    const toSecs = Math.min(ownEnd, Math.max(ownEnd - LAG_SECS_MAX, Math.min(...ends)));
    const grid = cutAt(question.grid, toSecs);
    const own: StatsReply = {
      name: cluster.name,
      sinceSecs: stats.clock.unixSecs(stats.startSecond),
      findings: await answerQuestion(stats, { ...question, grid }),
    };
    return {
      grid,
      toSecs,
      replies: [own, ...peers.map((peer) => replyOf(peer, grid)), ...this.#gone(peers)],
    };
  }

  #gone(peers: readonly PeerReply[]): StatsReply[] {
    const { cluster, vanished } = this.#deps;
    const known = new Set([cluster.name, ...peers.map(({ name }) => name)]);
    const names = vanished().filter((name) => !known.has(name));
    return names.map((name) => ({ name, sinceSecs: undefined, findings: undefined }));
  }

  async #askPeers(question: WireQuestion): Promise<readonly PeerReply[]> {
    if (this.#deps.cluster.peers.length === 0) return [];
    const text = questionText(question);
    return this.#replies.of(text, () => this.#collect(text));
  }

  async #collect(question: string): Promise<readonly PeerReply[]> {
    const { stats } = this.#deps;
    const { peers, texts } = await this.#questions.ask(question);
    const found = await Promise.all([...texts.values()].map((text) => parseAnswer(text, stats.columns)));
    const answers = found.filter((answer) => answer !== undefined);
    const answered = new Set(answers.map(({ name }) => name));
    // A restarted gateway has two ids for a while. A gateway that has just started is not listed yet.
    const missing = new Set(peers.map(({ name }) => name).filter((name) => !answered.has(name)));
    return [
      ...answers.map((answer) => ({ name: answer.name, answer })),
      ...[...missing].map((name) => ({ name, answer: undefined })),
    ];
  }

  async #answer(text: string): Promise<string | undefined> {
    const { cluster, stats } = this.#deps;
    const question = parseQuestion(text);
    if (question === undefined) return undefined;
    return this.#texts.of(text, () => answerText(stats, question, cluster.name));
  }
}

function replyOf({ name, answer }: PeerReply, grid: StatsGrid): StatsReply {
  if (answer === undefined) return { name, sinceSecs: undefined, findings: undefined };
  return { name, sinceSecs: answer.startSecs, findings: alignedTo(grid, answer) };
}

/** Removes the steps that begin at `toSecs` or later. */
function cutAt(grid: StatsGrid, toSecs: number): StatsGrid {
  const steps = Math.ceil((toSecs - grid.fromSecs) / grid.stepSecs);
  return { ...grid, steps: Math.max(0, Math.min(grid.steps, steps)) };
}
