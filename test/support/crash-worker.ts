/**
 * Makes a proxy worker of a started gateway die of an uncaught exception, as a defect would, or of memory used up,
 * or turn for ever, through Node's inspector. The gateway must have been started with `INSPECTABLE` in its environment.
 */
import { once } from 'node:events';
import type { TestGateway } from './gateway.ts';

export const INSPECTABLE = { NODE_OPTIONS: '--inspect=127.0.0.1:0' } as const;

const MISHAPS = {
  exception: "setImmediate(() => { throw new Error('crashed by a test'); })",
  'out of memory':
    'setImmediate(() => { const all = []; for (;;) all.push(new Array(1e6).fill(all.length)); })',
  'endless loop': 'setImmediate(() => { for (;;); })',
} as const;
export type Mishap = keyof typeof MISHAPS;

interface InspectorMessage {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly sessionId: string; readonly workerInfo: { readonly title: string } };
}

/** @param isVictim is given the title of each worker, which ends in its name, for example `proxy-1` */
export async function crashWorkers(
  gateway: TestGateway,
  isVictim: (title: string) => boolean,
  mishap: Mishap = 'exception',
): Promise<void> {
  const url = /ws:\/\/\S+/.exec(gateway.output())?.[0];
  if (url === undefined) throw new Error('The gateway was not started with INSPECTABLE');
  const socket = new WebSocket(url);
  await once(socket, 'open');
  let nextId = 1;
  const send = (method: string, params: object): void =>
    socket.send(JSON.stringify({ id: nextId++, method, params }));
  const victims = new Set<string>();
  let areNamed = false;
  const named = Promise.withResolvers<void>();
  const died = Promise.withResolvers<void>();
  socket.addEventListener('message', ({ data }) => {
    const { id, method, params } = JSON.parse(String(data)) as InspectorMessage;
    // The answer to `enable` comes after all workers have been named.
    if (id === 1) {
      areNamed = true;
      named.resolve();
    }
    // Those that are started later are named as well.
    if (method === 'NodeWorker.attachedToWorker' && params !== undefined && !areNamed) {
      if (isVictim(params.workerInfo.title)) victims.add(params.sessionId);
    }
    if (method === 'NodeWorker.detachedFromWorker' && params !== undefined) {
      if (victims.delete(params.sessionId) && victims.size === 0) died.resolve();
    }
  });
  send('NodeWorker.enable', { waitForDebuggerOnStart: false });
  await named.promise;
  if (victims.size === 0) throw new Error('There is no such worker');
  for (const sessionId of victims) {
    const message = JSON.stringify({
      id: 1,
      method: 'Runtime.evaluate',
      params: { expression: MISHAPS[mishap] },
    });
    send('NodeWorker.sendMessageToWorker', { sessionId, message });
  }
  await died.promise;
  socket.close();
}
