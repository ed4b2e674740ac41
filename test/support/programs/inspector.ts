/**
 * The threads of a started gateway, over the inspector (Chrome DevTools Protocol; the threads beside the main one by
 * Node's domain NodeWorker): to run something in them, and to collect their garbage.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { WITH_SPARE, type TestGateway } from '../gateway.ts';
import { until } from '../measure/until.ts';

/**
 * Environment of a gateway that can be inspected, on a free port of the loopback interface, and whose workers may die.
 */
export const INSPECTABLE = { NODE_OPTIONS: '--inspect=127.0.0.1:0', ...WITH_SPARE } as const;

const REPLY_MS_MAX = 30_000;
const COLLECT = 'HeapProfiler.collectGarbage';
const EVALUATE = 'Runtime.evaluate';
/** In the thread: bytes of objects that have outlived a collection, and of what is compiled, with its metadata. */
const HEAP = `(() => {
  const spaces = process.getBuiltinModule('node:v8').getHeapSpaceStatistics();
  const used = (...names) => spaces.filter(({ space_name: name }) => names.includes(name))
    .reduce((all, { space_used_size: bytes }) => all + bytes, 0);
  return JSON.stringify([used('old_space', 'large_object_space'),
    used('code_space', 'code_large_object_space', 'trusted_space', 'trusted_large_object_space')]);
})()`;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: {
    readonly sessionId?: string;
    readonly message?: string;
    readonly workerInfo?: { readonly title: string };
  };
  readonly error?: { readonly message: string };
  readonly result?: { readonly result?: { readonly value?: string } };
}

export interface HeapUse {
  /** What collections have left: a leak of records, closures or texts shows here. */
  readonly objectBytes: number;
  /** Bytecode and machine code: more for as long as V8 finds further functions that are called often. */
  readonly codeBytes: number;
}

export class Inspector {
  readonly #socket: WebSocket;
  /** Titles of the threads beside the main one, that live. */
  readonly #threads = new Map<string, string>();
  /** By thread ('' is the main one) and number of the command. */
  readonly #waiting = new Map<string, (message: Message) => void>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#take('', JSON.parse(String(data)) as Message));
  }

  /** @param gateway started with INSPECTABLE */
  static async open(gateway: TestGateway): Promise<Inspector> {
    const url = await until(() => /Debugger listening on (ws:\S+)/.exec(gateway.output())?.[1]);
    const socket = new WebSocket(url);
    await new Promise((done, fail) => {
      socket.addEventListener('open', done, { once: true });
      socket.addEventListener('error', () => fail(new Error(`No inspector at ${url}`)), { once: true });
    });
    const inspector = new Inspector(socket);
    await inspector.#ask('', 'NodeWorker.enable', { waitForDebuggerOnStart: false });
    return inspector;
  }

  /** Titles of all threads that live but the main one, by session; those of workers end in their name, `proxy-1`. */
  get threads(): ReadonlyMap<string, string> {
    return this.#threads;
  }

  /** Does not wait for what comes of it. */
  run(thread: string, expression: string): void {
    this.#send(thread, { id: ++this.#lastId, method: EVALUATE, params: { expression } });
  }

  /**
   * A full collection in every thread, one after the other. What is resident then is what is held: between two
   * collections V8 lets a heap grow by what it pleases, which on a quiet management thread takes more than an hour.
   */
  async collectGarbage(): Promise<void> {
    for (const thread of ['', ...this.#threads.keys()]) await this.#ask(thread, COLLECT);
    // Pages are given back to the system by threads of V8, a little later.
    await pause(500);
  }

  /** Of all threads; objects are told from garbage only right after a collection. */
  async heapUse(): Promise<HeapUse> {
    const use = { objectBytes: 0, codeBytes: 0 };
    for (const thread of ['', ...this.#threads.keys()]) {
      const { result } = await this.#ask(thread, EVALUATE, { expression: HEAP });
      // It has ended meanwhile.
      if (result === undefined) continue;
      const [objectBytes, codeBytes] = JSON.parse(String(result.result?.value)) as [number, number];
      use.objectBytes += objectBytes;
      use.codeBytes += codeBytes;
    }
    return use;
  }

  close(): void {
    this.#socket.close();
  }

  async #ask(thread: string, method: string, params: object = {}): Promise<Message> {
    const id = ++this.#lastId;
    const command = { id, method, params };
    const reply = new Promise<Message>((done) => this.#waiting.set(`${thread} ${id}`, done));
    this.#send(thread, command);
    const late = pause(REPLY_MS_MAX, undefined, { ref: false }).then((): Message => ({
      error: { message: 'no reply' },
    }));
    const message = await Promise.race([reply, late]);
    // A thread that has ended meanwhile has no garbage.
    if (message.error !== undefined && (thread === '' || this.#threads.has(thread)))
      throw new Error(`${method}: ${message.error.message}`);
    return message;
  }

  #send(thread: string, command: object): void {
    const whole =
      thread === ''
        ? command
        : {
            id: ++this.#lastId,
            method: 'NodeWorker.sendMessageToWorker',
            params: { sessionId: thread, message: JSON.stringify(command) },
          };
    this.#socket.send(JSON.stringify(whole));
  }

  #take(thread: string, message: Message): void {
    const { id, method, params: { sessionId = '', message: inner = '{}', workerInfo } = {} } = message;
    if (method === 'NodeWorker.attachedToWorker') this.#threads.set(sessionId, workerInfo?.title ?? '');
    else if (method === 'NodeWorker.detachedFromWorker') this.#threads.delete(sessionId);
    else if (method === 'NodeWorker.receivedMessageFromWorker')
      this.#take(sessionId, JSON.parse(inner) as Message);
    else if (id !== undefined) {
      const key = `${thread} ${id}`;
      this.#waiting.get(key)?.(message);
      this.#waiting.delete(key);
    }
  }
}
