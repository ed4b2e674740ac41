/**
 * The worker's side of explain: answers the questions of the main thread, and applies its setup to the recorder and
 * the debug tokens. It begins one explanation of a described request in each turn of the event loop: each of them runs
 * a whole request, and however many are asked for at once, the requests of clients are served in between.
 */
import type { Explain } from './explain.ts';
import type { DebugTokens } from './debug-header.ts';
import type { LiveTap } from './live/live-tap.ts';
import type { ExchangeRecorder } from './recorder.ts';
import type { FixLookups } from './fix.ts';
import type { ExplainSettings } from '../policy/part-explain.ts';
import type { ExplainedMessage, ExplainMessage } from './messages.ts';

export interface ExplainWorkerParts {
  readonly explain: Explain;
  readonly recorder: ExchangeRecorder;
  readonly debugTokens: DebugTokens;
  readonly live: LiveTap;
  readonly settings: ExplainSettings;
  readonly lookups: FixLookups;
}

/** Descriptions that wait for their turn. Beyond, the caller is told to try again later. */
const WAITING_MAX = 1_000;

/** @returns the receiver of messages, which answers each of them with `send` */
export function createExplainSide(
  parts: ExplainWorkerParts,
  send: (answer: ExplainedMessage) => void,
): (message: ExplainMessage) => void {
  const waiting: ExplainMessage[] = [];
  const answerNext = (): void => {
    const message = waiting.shift();
    if (message !== undefined) void answerTo(message, parts).then(send);
    // Not before the sockets had their turn.
    if (waiting.length > 0) setImmediate(answerNext);
  };
  return (message) => {
    if (message.type !== 'explain') return void answerTo(message, parts).then(send);
    if (waiting.length >= WAITING_MAX) return send(answered(message.id, {}));
    waiting.push(message);
    if (waiting.length === 1) setImmediate(answerNext);
  };
}

/** Never rejects. */
async function answerTo(message: ExplainMessage, parts: ExplainWorkerParts): Promise<ExplainedMessage> {
  const { id } = message;
  switch (message.type) {
    case 'explain':
      try {
        return answered(id, { explanation: await parts.explain(message.input) });
      } catch (error) {
        return answered(id, { error: String(error) });
      }
    case 'explain_recorded':
      return answered(id, parts.recorder.explain(message.name, parts.settings, parts.lookups) ?? {});
    case 'explain_setup':
      parts.recorder.sample(message.setup.sampling);
      parts.debugTokens.set(message.setup.debugTokens);
      parts.live.watch(message.setup.watches);
      return answered(id, {});
  }
}

function answered(
  id: number,
  { explanation, request, error }: Partial<Pick<ExplainedMessage, 'explanation' | 'request' | 'error'>>,
): ExplainedMessage {
  return { type: 'explained', id, explanation, request, error };
}
