/**
 * Questions of one kind that a gateway asks all others on its database, with one notification; each answers with
 * notifications only to the asker. Nothing is sent or stored while no question is asked.
 *
 * An asker waits for a bounded time. A gateway that misses this time is left out, and is only waited for briefly
 * until it has answered again, so that a hanging gateway delays only one question.
 */
import type { Logger } from '../../observe/log.ts';
import { MESSAGE_LENGTH_MAX } from '../../storage/repository.ts';
import { StorageUnavailable } from '../../storage/storage-errors.ts';
import type { Cluster, Peer } from './cluster.ts';
import { MessageParts } from './message-parts.ts';

/** Limit of the time that an asker waits. */
const WAIT_MS = 500;
/** The same for gateways that missed the last question. */
const SHORT_WAIT_MS = 50;
/** Limit of the answers of one gateway under way at once. */
const ANSWERS_MAX = 4;
/** Limit of the text of an answer: three times the size of a day by minutes from a busy gateway. */
const ANSWER_LENGTH_MAX = 2_097_152;
/** Leaves room for the header of a part. */
const PART_LENGTH = MESSAGE_LENGTH_MAX - 150;
const PARTS_MAX = Math.ceil(ANSWER_LENGTH_MAX / PART_LENGTH);

export interface PeerQuestionsDeps {
  readonly cluster: Pick<Cluster, 'selfId' | 'peers' | 'send' | 'listen'>;
  /** A word in the names of its messages. */
  readonly kind: string;
  /**
   * This gateway's answer to a question of another, a text without spaces; undefined for no answer. An
   * exception counts as no answer; unless it says that the database is unavailable, it is a defect, and logged.
   */
  readonly answer: (question: string) => Promise<string | undefined>;
  readonly log: Pick<Logger, 'error'>;
}

export interface PeerAnswers {
  /** The gateways that were asked. */
  readonly peers: readonly Peer[];
  /** Texts by gateway id; may include gateways that were not listed yet. */
  readonly texts: ReadonlyMap<string, string>;
}

/** A question that waits for answers. */
interface Asked {
  readonly texts: Map<string, string>;
  readonly parts: MessageParts;
  readonly onAnswer: () => void;
}

export class PeerQuestions {
  readonly #deps: PeerQuestionsDeps;
  readonly #asked = new Map<string, Asked>();
  /** Ids of gateways that missed the last question. */
  readonly #missed = new Set<string>();
  #questions = 0;
  #answering = 0;
  /** Whether a defect was logged; again only after an answer that worked. */
  #saidDefect = false;

  constructor(deps: PeerQuestionsDeps) {
    this.#deps = deps;
    deps.cluster.listen((text) => this.#hear(text));
  }

  /**
   * Resolves after at most `WAIT_MS`; never rejects.
   * @param question a text without spaces
   */
  async ask(question: string): Promise<PeerAnswers> {
    const { peers } = this.#deps.cluster;
    if (peers.length === 0) return { peers, texts: new Map() };
    for (const id of this.#missed) if (!peers.some((peer) => peer.id === id)) this.#missed.delete(id);
    const texts = await this.#gather(question, new Set(peers.map(({ id }) => id)));
    for (const { id } of peers) if (!texts.has(id)) this.#missed.add(id);
    return { peers, texts };
  }

  /** Resolves when all have answered, when the question cannot be sent, or when the time has passed. */
  async #gather(question: string, peers: ReadonlySet<string>): Promise<ReadonlyMap<string, string>> {
    const { cluster, kind } = this.#deps;
    const id = String(++this.#questions);
    const { promise, resolve } = Promise.withResolvers<void>();
    const texts = new Map<string, string>();
    const awaited = [...peers].filter((peer) => !this.#missed.has(peer));
    let waitsForAll = true;
    const look = (): void => {
      if ((waitsForAll ? [...peers] : awaited).every((peer) => texts.has(peer))) resolve();
    };
    this.#asked.set(id, { texts, parts: new MessageParts(PARTS_MAX), onAnswer: look });
    const soon = setTimeout(() => {
      waitsForAll = false;
      look();
    }, SHORT_WAIT_MS);
    const late = setTimeout(resolve, WAIT_MS);
    cluster.send(undefined, [`${kind}-ask ${cluster.selfId} ${id} ${question}`]).catch((error: unknown) => {
      this.#noteFailure(error, 'cannot ask the other gateways');
      resolve();
    });
    await promise;
    clearTimeout(soon);
    clearTimeout(late);
    this.#asked.delete(id);
    return texts;
  }

  #hear(text: string): void {
    const { cluster, kind } = this.#deps;
    const [message, node = '', id = '', ...rest] = text.split(' ');
    if (node === cluster.selfId) return;
    if (message === `${kind}-ask`) void this.#answer(node, id, rest[0] ?? '');
    else if (message === `${kind}-answer`) this.#hearAnswer(node, id, rest);
  }

  #hearAnswer(node: string, id: string, [index, count, part = '']: readonly string[]): void {
    // A late answer also counts: the next question waits for this gateway.
    this.#missed.delete(node);
    const asked = this.#asked.get(id);
    const text = asked?.parts.add(node, Number(index), Number(count), part);
    if (asked === undefined || text === undefined) return;
    asked.texts.set(node, text);
    asked.onAnswer();
  }

  #noteFailure(error: unknown, text: string): void {
    if (error instanceof StorageUnavailable || this.#saidDefect) return;
    this.#saidDefect = true;
    this.#deps.log.error({ err: error, question: this.#deps.kind }, text);
  }

  /** Never rejects. Does not answer when it has too much to do. */
  async #answer(node: string, id: string, question: string): Promise<void> {
    if (this.#answering >= ANSWERS_MAX) return;
    this.#answering += 1;
    try {
      const answer = await this.#deps.answer(question);
      if (answer === undefined || answer.length > ANSWER_LENGTH_MAX) return;
      const { cluster, kind } = this.#deps;
      const count = Math.ceil(answer.length / PART_LENGTH);
      const head = `${kind}-answer ${cluster.selfId} ${id}`;
      const parts = Array.from({ length: count }, (_part, index) => {
        const part = answer.slice(index * PART_LENGTH, (index + 1) * PART_LENGTH);
        return `${head} ${index} ${count} ${part}`;
      });
      await cluster.send(node, parts);
      this.#saidDefect = false;
    } catch (error) {
      // No answer counts as one that comes too late.
      this.#noteFailure(error, 'cannot answer another gateway, which shows this one without its data');
    } finally {
      this.#answering -= 1;
    }
  }
}
