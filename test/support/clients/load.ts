/**
 * A flood of requests over a few keep-alive connections: wrk where it is installed, which is faster than what it
 * asks, else connections of this process, each of which sends the next request when it has its answer.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { TestGateway } from '../gateway.ts';
import { findProgram, run } from '../programs/programs.ts';
import { connectRaw } from './raw-client.ts';
import { requestText } from '../traffic.ts';

export interface Flood {
  readonly connections: number;
  readonly seconds: number;
  /** How late an answer may come, where it is more than the usual two seconds of wrk. */
  readonly timeoutSecs?: number;
}

export interface Flooded {
  readonly requests: number;
  /** Answers with a status of 400 and above. */
  readonly refused: number;
  /** What asked. */
  readonly by: 'wrk' | 'this process';
}

export async function flood(gateway: TestGateway, path: string, load: Flood): Promise<Flooded> {
  const wrk = findProgram('wrk');
  return wrk === undefined ? floodHere(gateway, path, load) : floodByWrk(wrk, gateway, path, load);
}

async function floodByWrk(
  wrk: string,
  gateway: TestGateway,
  path: string,
  { connections, seconds, timeoutSecs = 2 }: Flood,
): Promise<Flooded> {
  // It takes whole seconds.
  const bounds = [`-c${connections}`, `-d${Math.ceil(seconds)}s`, `--timeout=${timeoutSecs}s`];
  const args = ['-t1', ...bounds, `${gateway.proxy}${path}`];
  const { code, stdout, stderr } = await run(wrk, args);
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1]);
  if (code !== 0 || !Number.isInteger(requests)) throw new Error(`wrk failed: ${stdout}${stderr}`);
  if (stdout.includes('Socket errors')) throw new Error(`wrk met errors: ${stdout}`);
  return { requests, refused: Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0), by: 'wrk' };
}

async function floodHere(
  gateway: TestGateway,
  path: string,
  { connections, seconds }: Flood,
): Promise<Flooded> {
  let requests = 0;
  let refused = 0;
  const endMs = Date.now() + seconds * 1000;
  const ask = async (): Promise<void> => {
    const client = await connectRaw(gateway.proxyPort);
    while (Date.now() < endMs) {
      client.write(requestText(path));
      const { status } = await client.response();
      requests++;
      if (status >= 400) refused++;
      // The others must have their turn, too.
      if (requests % 64 === 0) await pause(0);
    }
    client.end();
  };
  await Promise.all(Array.from({ length: connections }, ask));
  return { requests, refused, by: 'this process' };
}
