/**
 * Rounds of calm and of attack by slow clients against the program, and what its other traffic noticed. Each round
 * measures both, so that they meet the same machine; an attack is measured while all of its connections are held.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { childReply } from '../programs/child-reply.ts';
import { connectRaw } from './raw-client.ts';
import type { Attack, Command, End, Reply } from './slow-client-process.ts';

const PROCESS = join(import.meta.dirname, 'slow-client-process.ts');
/** Connections of the other traffic, each with one request at a time. */
const CLIENTS = 8;
const PAUSE_MS = 25;
const LISTENING = '0A';

export class SlowClients {
  readonly backendPort: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, backendPort: number) {
    this.#child = child;
    this.backendPort = backendPort;
  }

  static async start(): Promise<SlowClients> {
    const child = fork(PROCESS, { execArgv: [] });
    const { backendPort } = await childReply<Reply, 'ready'>(child, 'ready');
    return new SlowClients(child, backendPort);
  }

  /** Resolves when every connection stands and has sent its first bytes, with the ports of those that do not read. */
  async open(attack: Attack): Promise<readonly number[]> {
    const opened = childReply<Reply, 'opened'>(this.#child, 'opened');
    this.#send({ kind: 'open', attack });
    return (await opened).deafPorts;
  }

  /** From now on only heads drip, and the bodies that never stop. */
  stopBodies(): void {
    this.#send({ kind: 'stop-bodies' });
  }

  async ends(): Promise<readonly End[]> {
    const ends = childReply<Reply, 'ends'>(this.#child, 'ends');
    this.#send({ kind: 'report' });
    return (await ends).ends;
  }

  close(): void {
    if (this.#child.connected) this.#child.disconnect();
  }

  #send(command: Command): void {
    this.#child.send(command);
  }
}

/** Sends requests to `target` for `durationMs` on a few connections and gives the time of each answer, sorted. */
export async function answerTimesMs(port: number, target: string, durationMs: number): Promise<number[]> {
  const endMs = performance.now() + durationMs;
  const times: number[] = [];
  const some = async (): Promise<void> => {
    const client = await connectRaw(port);
    while (performance.now() < endMs) {
      const startMs = performance.now();
      client.write(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
      const { status } = await client.response();
      if (status !== 200) throw new Error(`Expected 200, not ${status}`);
      times.push(performance.now() - startMs);
      await new Promise((done) => setTimeout(done, PAUSE_MS));
    }
    client.end();
  };
  await Promise.all(Array.from({ length: CLIENTS }, some));
  return times;
}

/**
 * Connections to that port that a process of this machine still holds open (proc_net_tcp(5)): the bytes that wait to
 * be sent on each, by the port of its client.
 */
export function heldConnections(port: number): Map<number, number> {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const held = new Map<number, number>();
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    if (!line.includes(local)) continue;
    const [, address, peer = '', state, queues = '', , , , , inode] = line.trim().split(/\s+/);
    if (address !== local || state === LISTENING || inode === '0') continue;
    held.set(parseInt(peer.slice(peer.indexOf(':') + 1), 16), parseInt(queues, 16));
  }
  return held;
}
