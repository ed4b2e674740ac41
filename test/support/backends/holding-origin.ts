/**
 * A backend that keeps requests waiting until the test lets them go, or does to them what their field `x-do` says;
 * it also accepts upgrades to `held`, which stay open.
 */
import * as http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface HoldingOrigin {
  readonly port: number;
  /** Requests that wait now, upgraded connections included. */
  readonly waiting: number;
  /** Requests that have come so far. */
  readonly come: number;
  /** Answers the request that has waited longest. */
  answerOne(): void;
  answerAll(): void;
  /** Ends all upgraded connections. */
  endTunnels(): void;
  close(): Promise<void>;
}

export async function startHoldingOrigin(): Promise<HoldingOrigin> {
  const held = new Set<http.ServerResponse>();
  const tunnels = new Set<Socket>();
  let come = 0;
  const server = http.createServer((request, response) => {
    come++;
    request.resume();
    switch (request.headers['x-do']) {
      case 'reset':
        return void request.socket.destroy();
      case 'truncate':
        response.writeHead(200, { 'content-length': '100' });
        response.write('a part');
        return void setTimeout(() => request.socket.destroy(), 10);
      case 'answer':
        return void response.end('ok');
      case 'answer in one piece':
        return void response.end('x'.repeat(20_000));
      case 'answer at length':
        return void response.end('x'.repeat(300_000));
      default:
        held.add(response);
        response.on('close', () => held.delete(response));
    }
  });
  server.keepAliveTimeout = 60_000;
  server.on('upgrade', (_request, socket: Socket) => {
    come++;
    tunnels.add(socket);
    socket.on('close', () => tunnels.delete(socket)).on('error', () => undefined);
    socket.on('end', () => socket.end());
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: held\r\n\r\n');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const answer = (response: http.ServerResponse): void => {
    held.delete(response);
    response.end('ok');
  };
  return {
    port: (server.address() as AddressInfo).port,
    get waiting() {
      return held.size + tunnels.size;
    },
    get come() {
      return come;
    },
    answerOne: () => {
      for (const response of held) return answer(response);
    },
    answerAll: () => {
      for (const response of held) answer(response);
    },
    endTunnels: () => {
      for (const socket of tunnels) socket.end();
    },
    close: async () => {
      for (const socket of tunnels) socket.destroy();
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
