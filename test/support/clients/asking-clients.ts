/**
 * Clients that ask all the time, each on a connection of its own that it keeps for as long as it may, at a steady
 * pace; for tests of what happens to traffic meanwhile. Each answer and each failure is kept with its time.
 */
import * as net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export interface Asked {
  /** When the request was written, or the connection tried; milliseconds as of performance.now(). */
  readonly beganMs: number;
  readonly endedMs: number;
  /** `200`, …; `refused`: no connection could be made; `cut`: the connection ended before the whole answer came. */
  readonly outcome: string;
}

export interface AskingOptions {
  readonly port: number;
  readonly connections: number;
  /** Between the starts of two requests of a client, unless the answer takes longer. */
  readonly everyMs: number;
  /** A whole request without a body. */
  readonly request: string;
  /** What the body of every answer must be, or else its outcome is `wrong body`. */
  readonly body: string;
}

export interface AskingClients {
  readonly asked: Asked[];
  /** Lets the requests under way come to their end. */
  stop(): Promise<void>;
}

export function startAsking(options: AskingOptions): AskingClients {
  const asked: Asked[] = [];
  let isStopped = false;
  const ask = async (index: number): Promise<void> => {
    await pause((index * options.everyMs) / options.connections);
    let client: Client | undefined;
    while (!isStopped) {
      const beganMs = performance.now();
      const outcome = await (client ??= new Client(options.port)).ask(options);
      asked.push({ beganMs, endedMs: performance.now(), outcome });
      if (!client.isUsable) client = undefined;
      await pause(Math.max(1, options.everyMs - (performance.now() - beganMs)));
    }
    client?.end();
  };
  const clients = Array.from({ length: options.connections }, (_, index) => ask(index));
  return {
    asked,
    stop: async () => {
      isStopped = true;
      await Promise.all(clients);
    },
  };
}

class Client {
  readonly #socket: net.Socket;
  #text = '';
  #isConnected = false;
  #isClosed = false;
  #saysClose = false;
  #onAnswer: ((outcome: string) => void) | undefined;

  constructor(port: number) {
    this.#socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.setEncoding('latin1');
    this.#socket.on('connect', () => (this.#isConnected = true));
    this.#socket.on('data', (text: string) => {
      this.#text += text;
      const whole = wholeAnswer(this.#text);
      if (whole !== undefined) this.#settle(whole);
    });
    this.#socket.on('error', () => this.#fail());
    this.#socket.on('close', () => this.#fail());
    this.#socket.on('end', () => this.#fail());
  }

  get isUsable(): boolean {
    return !this.#isClosed && !this.#saysClose;
  }

  ask({ request, body }: AskingOptions): Promise<string> {
    return new Promise((done) => {
      this.#onAnswer = (outcome) => {
        this.#onAnswer = undefined;
        done(outcome === '200' && !this.#text.endsWith(`\r\n\r\n${body}`) ? 'wrong body' : outcome);
        this.#text = '';
      };
      // Closed by the other side while it was at rest: nothing had begun, and nothing is lost.
      if (this.#isClosed) this.#onAnswer('closed at rest');
      else this.#socket.write(request, 'latin1');
    });
  }

  end(): void {
    this.#socket.destroy();
  }

  #settle(outcome: string): void {
    this.#saysClose = /\r\nconnection: close\r\n/i.test(this.#text);
    if (this.#saysClose) this.#socket.destroy();
    this.#onAnswer?.(outcome);
  }

  #fail(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.destroy();
    this.#onAnswer?.(this.#isConnected ? 'cut' : 'refused');
  }
}

/** The status once an answer with a Content-Length is whole. */
function wholeAnswer(text: string): string | undefined {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(text.slice(0, headEnd + 2))?.[1]);
  return text.length >= headEnd + 4 + length ? text.slice(9, 12) : undefined;
}
