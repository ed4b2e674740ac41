/**
 * Several backends in the test's own process that stand for the targets of one revision: each counts what it gets, and
 * can be told to fail in one of the ways in which backends do, under load.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** `frozen` takes requests and never answers; `down` refuses connections, and breaks those that are there. */
export type TargetMode = 'well' | 'failing' | 'refusing' | 'frozen' | 'slow' | 'down' | 'resetting';

const SLOW_MS = 120;

export class FleetTarget {
  readonly name: string;
  /** Requests that have come, without health checks. */
  requests = 0;
  checks = 0;
  /** Connections that are open. */
  readonly sockets = new Set<Socket>();
  #mode: TargetMode = 'well';
  #server: Server | undefined;
  #port = 0;

  constructor(name: string) {
    this.name = name;
  }

  get port(): number {
    return this.#port;
  }

  async listen(): Promise<void> {
    const server = createServer((request, response) => this.#answer(request, response));
    server.keepAliveTimeout = 60_000;
    server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket)).on('error', () => undefined);
    });
    await new Promise<void>((done) => server.listen(this.#port, '127.0.0.1', done));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async become(mode: TargetMode): Promise<void> {
    const before = this.#mode;
    this.#mode = mode;
    if (mode === 'down') await this.close();
    else if (before === 'down') await this.listen();
  }

  /** Ends the connections too. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise((done) => server.close(done));
    for (const socket of this.sockets) socket.resetAndDestroy();
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    if (request.url === '/healthz') this.checks += 1;
    else this.requests += 1;
    const answer = (status: number): void => {
      response.writeHead(status, { 'content-type': 'text/plain', 'x-target': this.name });
      response.end(this.name);
    };
    switch (this.#mode) {
      case 'well':
        return answer(200);
      case 'refusing':
        return answer(501);
      case 'failing':
        return answer(500);
      case 'slow':
        return void setTimeout(() => answer(200), SLOW_MS);
      case 'resetting':
        return void request.socket.resetAndDestroy();
      default:
    }
  }
}

/** So many targets, named `t0`, `t1` and so on. */
export async function startFleet(count: number): Promise<readonly FleetTarget[]> {
  const fleet = Array.from({ length: count }, (_none, index) => new FleetTarget(`t${index}`));
  await Promise.all(fleet.map((target) => target.listen()));
  return fleet;
}

/** The targets as a revision takes them. */
export const targetsOf = (fleet: readonly FleetTarget[]) =>
  fleet.map(({ port }) => ({ host: '127.0.0.1', port }));
