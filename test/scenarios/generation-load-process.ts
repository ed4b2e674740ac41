/**
 * A process that is both ends of a full load: the backend, and clients that never stop asking, each on one connection
 * with one request at a time. Every answer is judged: it must show one generation, and on one connection (so at one
 * worker) never an older one than before. Driven over IPC by generation-load.ts.
 */
import { LeanClient, startLeanBackend } from '../support/clients/lean-client.ts';
import {
  backendAnswer,
  generationRequest,
  judge,
  type GenerationRequest,
} from '../support/data/config-generations.ts';

export interface LoadRequest extends GenerationRequest {
  readonly token: string;
  /** See `judge`. */
  readonly inApp: boolean;
}

export type LoadCommand =
  | {
      readonly kind: 'start';
      readonly port: number;
      readonly connections: number;
      readonly requests: LoadRequest[];
    }
  | { readonly kind: 'stop' };

export interface LoadReport {
  readonly kind: 'report';
  readonly exchanges: number;
  /** Answers with status 403, which tell of the scope. */
  readonly refused: number;
  /** Generations that were seen, over all services. */
  readonly generations: number;
  readonly violations: readonly string[];
  readonly violationCount: number;
}

export type LoadReply = { readonly kind: 'ready'; readonly backendPort: number } | LoadReport;

const VIOLATIONS_SHOWN = 20;

let running = false;
let clients: Promise<void>[] = [];
let exchanges = 0;
let refused = 0;
let violationCount = 0;
const violations: string[] = [];
const seen = new Set<string>();

function violation(text: string): void {
  violationCount += 1;
  if (violations.length < VIOLATIONS_SHOWN) violations.push(text);
}

async function runClient(port: number, requests: readonly LoadRequest[], first: number): Promise<void> {
  const texts = requests.map((request) => generationRequest(request, request.token));
  const newest = new Map<string, number>();
  const client = await LeanClient.connect(port);
  try {
    for (let turn = first; running; turn++) {
      const request = requests[turn % requests.length] as LoadRequest;
      const response = await client.ask(texts[turn % requests.length] as string);
      exchanges += 1;
      if (response.status === 403) refused += 1;
      const verdict = judge(request, response, request.inApp);
      if ('problem' in verdict) {
        violation(`${request.slug}: ${verdict.problem}`);
        continue;
      }
      const { generation } = verdict;
      const before = newest.get(request.slug) ?? 0;
      if (generation < before) violation(`${request.slug}: generation ${generation} after ${before}`);
      newest.set(request.slug, generation);
      seen.add(`${request.slug} ${generation}`);
    }
  } catch (error) {
    violation(`a connection failed: ${String(error)}`);
  } finally {
    client.close();
  }
}

const backend = await startLeanBackend(backendAnswer);

process.on('message', (command: LoadCommand) => {
  if (command.kind === 'start') {
    running = true;
    const { port, connections, requests } = command;
    clients = Array.from({ length: connections }, (_each, index) => runClient(port, requests, index * 7));
    return;
  }
  running = false;
  void Promise.all(clients).then(() => {
    const report: LoadReport = {
      kind: 'report',
      exchanges,
      refused,
      generations: seen.size,
      violations,
      violationCount,
    };
    process.send?.(report satisfies LoadReply);
  });
});
process.on('disconnect', () => process.exit(0));
process.send?.({ kind: 'ready', backendPort: backend.port } satisfies LoadReply);
