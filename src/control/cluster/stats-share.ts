/**
 * Time series of all gateways on one database. The gateway that is asked puts the question to all of them with one
 * notification; each answers with notifications to the asker alone. Nothing is sent or kept while nothing is asked.
 *
 * An asker waits a bounded time. A gateway that misses it is in no answer, and is hardly waited for until it has
 * answered again, so one that hangs delays one question. Answers are used again for a moment on both sides, so many people who
 * watch the same cost each gateway one answer in that time.
 */
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
import { MESSAGE_LENGTH_MAX } from '../../storage/repository.ts';
import type { Cluster } from './cluster.ts';
import { MessageParts } from './message-parts.ts';
import { RecentResults } from './recent-results.ts';

/** The most that an asker waits for others. */
const WAIT_MS = 500;
/** How long an answer is used again. */
const REUSE_MS = 1_000;
const RESULTS_MAX = 64;
/** Answers of one gateway that are made at once. */
const ANSWERS_MAX = 4;
/** Text of an answer; a day by minutes of a busy gateway has a third. */
const ANSWER_LENGTH_MAX = 2_097_152;
/** Steps by which the end of what is counted may differ between gateways; beyond, clocks differ. */
const LAG_SECS_MAX = 10;
/** The most that it waits for gateways that missed the last question. */
const SHORT_WAIT_MS = 50;
const ASK = 'stats-ask';
const ANSWER = 'stats-answer';
/** Room for what stands before a part of an answer. */
const PART_LENGTH = MESSAGE_LENGTH_MAX - 150;
const PARTS_MAX = Math.ceil(ANSWER_LENGTH_MAX / PART_LENGTH);

export interface StatsShareDeps {
  readonly cluster: Pick<Cluster, 'selfId' | 'name' | 'peers' | 'send' | 'listen'>;
  readonly stats: StatsHistory;
  /** Names of gateways that have died lately, as far as this one knows. */
  readonly vanished: () => readonly string[];
}

interface PeerReply {
  readonly name: string;
  readonly answer: WireFindings | undefined;
}

/** A question that waits for answers. */
interface Asked {
  /** Texts by id of their gateway. */
  readonly answers: Map<string, string>;
  readonly parts: MessageParts;
  readonly onAnswer: () => void;
}

export class StatsShare {
  readonly #deps: StatsShareDeps;
  readonly #asked = new Map<string, Asked>();
  readonly #replies: RecentResults<readonly PeerReply[]>;
  readonly #texts: RecentResults<string>;
  /** Ids of gateways that missed the last question. */
  readonly #missed = new Set<string>();
  #questions = 0;
  #answering = 0;

  constructor(deps: StatsShareDeps) {
    this.#deps = deps;
    this.#replies = new RecentResults(REUSE_MS, RESULTS_MAX);
    this.#texts = new RecentResults(REUSE_MS, RESULTS_MAX);
    deps.cluster.listen((text) => this.#hear(text));
  }

  /** Never takes much longer than `WAIT_MS` for other gateways; those that do not answer have no findings. */
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
    const { cluster, stats } = this.#deps;
    const { peers } = cluster;
    for (const id of this.#missed) if (!peers.some((peer) => peer.id === id)) this.#missed.delete(id);
    const texts = await this.#gather(question, new Set(peers.map(({ id }) => id)));
    for (const { id } of peers) if (!texts.has(id)) this.#missed.add(id);
    const found = await Promise.all([...texts.values()].map((text) => parseAnswer(text, stats.columns)));
    const answers = found.filter((answer) => answer !== undefined);
    const answered = new Set(answers.map(({ name }) => name));
    // One that was started again has two ids for a while. One that has just started is not listed yet.
    const missing = new Set(peers.map(({ name }) => name).filter((name) => !answered.has(name)));
    return [
      ...answers.map((answer) => ({ name: answer.name, answer })),
      ...[...missing].map((name) => ({ name, answer: undefined })),
    ];
  }

  /** Resolves when all have answered, when the question cannot be sent, or when the time is over. */
  async #gather(question: string, peers: ReadonlySet<string>): Promise<ReadonlyMap<string, string>> {
    const { cluster } = this.#deps;
    const id = String(++this.#questions);
    const { promise, resolve } = Promise.withResolvers<void>();
    const answers = new Map<string, string>();
    const awaited = [...peers].filter((peer) => !this.#missed.has(peer));
    let waitsForAll = true;
    const look = (): void => {
      if ((waitsForAll ? [...peers] : awaited).every((peer) => answers.has(peer))) resolve();
    };
    this.#asked.set(id, { answers, parts: new MessageParts(PARTS_MAX), onAnswer: look });
    const soon = setTimeout(() => {
      waitsForAll = false;
      look();
    }, SHORT_WAIT_MS);
    const late = setTimeout(resolve, WAIT_MS);
    cluster.send(undefined, [`${ASK} ${cluster.selfId} ${id} ${question}`]).catch(() => resolve());
    await promise;
    clearTimeout(soon);
    clearTimeout(late);
    this.#asked.delete(id);
    return answers;
  }

  #hear(text: string): void {
    const [kind, node = '', id = '', ...rest] = text.split(' ');
    if (node === this.#deps.cluster.selfId) return;
    if (kind === ASK) void this.#answer(node, id, rest[0] ?? '');
    else if (kind === ANSWER) this.#hearAnswer(node, id, rest);
  }

  #hearAnswer(node: string, id: string, [index, count, part = '']: readonly string[]): void {
    // Also when it comes too late: the next question waits for it.
    this.#missed.delete(node);
    const asked = this.#asked.get(id);
    const text = asked?.parts.add(node, Number(index), Number(count), part);
    if (asked === undefined || text === undefined) return;
    asked.answers.set(node, text);
    asked.onAnswer();
  }

  /** Never rejects. With too much to do it does not answer. */
  async #answer(node: string, id: string, text: string): Promise<void> {
    const { cluster, stats } = this.#deps;
    const question = parseQuestion(text);
    if (question === undefined || this.#answering >= ANSWERS_MAX) return;
    this.#answering += 1;
    try {
      const answer = await this.#texts.of(text, () => answerText(stats, question, cluster.name));
      if (answer.length > ANSWER_LENGTH_MAX) return;
      const count = Math.ceil(answer.length / PART_LENGTH);
      const head = `${ANSWER} ${cluster.selfId} ${id}`;
      const parts = Array.from({ length: count }, (_part, index) => {
        const part = answer.slice(index * PART_LENGTH, (index + 1) * PART_LENGTH);
        return `${head} ${index} ${count} ${part}`;
      });
      await cluster.send(node, parts);
    } catch {
      // The database is away: the asker finds out by itself.
    } finally {
      this.#answering -= 1;
    }
  }
}

function replyOf({ name, answer }: PeerReply, grid: StatsGrid): StatsReply {
  if (answer === undefined) return { name, sinceSecs: undefined, findings: undefined };
  return { name, sinceSecs: answer.startSecs, findings: alignedTo(grid, answer) };
}

/** Without the steps that begin at `toSecs` or later. */
function cutAt(grid: StatsGrid, toSecs: number): StatsGrid {
  const steps = Math.ceil((toSecs - grid.fromSecs) / grid.stepSecs);
  return { ...grid, steps: Math.max(0, Math.min(grid.steps, steps)) };
}
