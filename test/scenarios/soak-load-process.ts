/**
 * A process that is both ends of the load of a soak: the backend, and clients on connections that come and go, for
 * callers with ever other addresses. It sends at a given rate, whatever the answers take, checks each answer and
 * counts them. Driven over IPC by soak-load.ts, which also tells it which targets there are at the moment.
 */
import { LeanClient, startLeanBackend } from '../support/clients/lean-client.ts';

/** What may be asked for: all fields but X-Forwarded-For and the blank line, and what must come back. */
export interface Target {
  readonly id: string;
  readonly head: string;
  readonly status: number;
  /** Of the answer, where it is the backend's. */
  readonly body: string | undefined;
}

export type SoakCommand =
  | {
      readonly kind: 'start';
      readonly port: number;
      readonly connections: number;
      readonly perSecond: number;
    }
  | { readonly kind: 'add'; readonly target: Target }
  /** Answered when no exchange of it is under way any more. */
  | { readonly kind: 'remove'; readonly id: string }
  | { readonly kind: 'stop' };

export interface SoakReport {
  readonly kind: 'report';
  readonly seconds: number;
  readonly connections: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly byTarget: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

export type SoakReply =
  | { readonly kind: 'ready'; readonly backendPort: number }
  | { readonly kind: 'removed'; readonly id: string }
  | SoakReport;

const EXCHANGES_PER_CONNECTION_MAX = 200;
const VIOLATIONS_MAX = 20;
const TICK_MS = 2;

interface Held extends Target {
  underWay: number;
  onIdle: (() => void) | undefined;
}

let targets: Held[] = [];
let counts = emptyCounts();
let running = false;
const waiting: (() => void)[] = [];
let clients: Promise<void>[] = [];
let timer: NodeJS.Timeout | undefined;

function emptyCounts() {
  return {
    startMs: performance.now(),
    connections: 0,
    byStatus: {} as Record<string, number>,
    byTarget: {} as Record<string, number>,
    violations: [] as string[],
  };
}

const below = (limit: number): number => Math.floor(Math.random() * limit);
const address = (): string => `10.${below(256)}.${below(256)}.${below(256)}`;

async function runConnections(port: number, index: number): Promise<void> {
  while (running) {
    counts.connections += 1;
    try {
      const client = await LeanClient.connect(port, { localAddress: `127.0.0.${2 + (index % 50)}` });
      for (let left = 1 + below(EXCHANGES_PER_CONNECTION_MAX); left > 0 && running; left--)
        await exchange(client);
      client.close();
    } catch (error) {
      violation(`a connection failed: ${String(error)}`);
    }
  }
}

async function exchange(client: LeanClient): Promise<void> {
  await new Promise<void>((due) => waiting.push(due));
  if (!running) return;
  const target = targets[below(targets.length)] as Held;
  target.underWay += 1;
  try {
    const { status, body } = await client.ask(`${target.head}X-Forwarded-For: ${address()}\r\n\r\n`);
    counts.byStatus[status] = (counts.byStatus[status] ?? 0) + 1;
    counts.byTarget[target.id] = (counts.byTarget[target.id] ?? 0) + 1;
    if (status !== target.status || (target.body !== undefined && body !== target.body))
      violation(`${target.id}: ${status} "${body}" in place of ${target.status} "${target.body}"`);
  } finally {
    target.underWay -= 1;
    if (target.underWay === 0) target.onIdle?.();
  }
}

function violation(text: string): void {
  if (counts.violations.length < VIOLATIONS_MAX) counts.violations.push(text);
}

function start({ port, connections, perSecond }: Extract<SoakCommand, { kind: 'start' }>): void {
  counts = emptyCounts();
  running = true;
  let sent = 0;
  timer = setInterval(() => {
    const due = Math.min(waiting.length, ((performance.now() - counts.startMs) / 1000) * perSecond - sent);
    for (const send of waiting.splice(0, Math.max(0, due))) {
      sent += 1;
      send();
    }
  }, TICK_MS);
  clients = Array.from({ length: connections }, (_each, index) => runConnections(port, index));
}

async function stop(): Promise<void> {
  running = false;
  clearInterval(timer);
  for (const send of waiting.splice(0)) send();
  await Promise.all(clients);
  const { startMs, ...rest } = counts;
  reply({ kind: 'report', seconds: (performance.now() - startMs) / 1000, ...rest });
}

function remove(id: string): void {
  const target = targets.find((each) => each.id === id);
  targets = targets.filter((each) => each !== target);
  const removed = (): void => reply({ kind: 'removed', id });
  if (target === undefined || target.underWay === 0) return removed();
  target.onIdle = removed;
}

function reply(message: SoakReply): void {
  process.send?.(message);
}

process.on('message', (command: SoakCommand) => {
  if (command.kind === 'start') start(command);
  else if (command.kind === 'add') targets.push({ ...command.target, underWay: 0, onIdle: undefined });
  else if (command.kind === 'remove') remove(command.id);
  else void stop();
});
process.on('disconnect', () => process.exit(0));

const backend = await startLeanBackend((head) => head.slice(head.indexOf(' ') + 1, head.indexOf(' HTTP/')));
reply({ kind: 'ready', backendPort: backend.port });
