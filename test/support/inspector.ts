/**
 * A started gateway's garbage collectors, over the inspector (Chrome DevTools Protocol, HeapProfiler; the threads of
 * a process by Node's domain NodeWorker). What is resident after a full collection is what is held: between two
 * collections V8 lets a heap grow by what it pleases, which on a quiet management thread takes more than an hour.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { TestGateway } from './gateway.ts';
import { until } from './until.ts';

/** Environment of a gateway that can be inspected, on a free port of the loopback interface. */
export const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' } as const;

const REPLY_MS_MAX = 30_000;
const COLLECT = 'HeapProfiler.collectGarbage';

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly sessionId?: string; readonly message?: string };
  readonly error?: { readonly message: string };
}

export class Inspector {
  readonly #socket: WebSocket;
  /** Of the threads beside the main one, that live. */
  readonly #sessions = new Set<string>();
  /** By thread ('' is the main one) and number of the command. */
  readonly #waiting = new Map<string, (message: Message) => void>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#take('', JSON.parse(String(data)) as Message));
  }

  /** @param gateway started with INSPECTED */
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

  /** A full collection in every thread, one after the other. */
  async collectGarbage(): Promise<void> {
    for (const thread of ['', ...this.#sessions]) await this.#ask(thread, COLLECT);
    // Pages are given back to the system by threads of V8, a little later.
    await pause(500);
  }

  close(): void {
    this.#socket.close();
  }

  async #ask(thread: string, method: string, params: object = {}): Promise<void> {
    const id = ++this.#lastId;
    const command = { id, method, params };
    const reply = new Promise<Message>((done) => this.#waiting.set(`${thread} ${id}`, done));
    this.#send(thread, command);
    const late = pause(REPLY_MS_MAX, undefined, { ref: false }).then((): Message => ({
      error: { message: 'no reply' },
    }));
    const { error } = await Promise.race([reply, late]);
    // A thread that has ended meanwhile has no garbage.
    if (error !== undefined && (thread === '' || this.#sessions.has(thread)))
      throw new Error(`${method}: ${error.message}`);
  }

  #send(thread: string, command: { readonly id: number }): void {
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
    const { id, method, params: { sessionId = '', message: inner = '{}' } = {} } = message;
    if (method === 'NodeWorker.attachedToWorker') this.#sessions.add(sessionId);
    else if (method === 'NodeWorker.detachedFromWorker') this.#sessions.delete(sessionId);
    else if (method === 'NodeWorker.receivedMessageFromWorker')
      this.#take(sessionId, JSON.parse(inner) as Message);
    else if (id !== undefined) {
      const key = `${thread} ${id}`;
      this.#waiting.get(key)?.(message);
      this.#waiting.delete(key);
    }
  }
}
