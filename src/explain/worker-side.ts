/**
 * The worker's side of explain: answers the questions of the main thread, and applies its setup to the recorder and
 * the debug tokens.
 */
import type { Explain } from './explain.ts';
import type { DebugTokens } from './debug-header.ts';
import type { LiveTap } from './live/live-tap.ts';
import type { ExchangeRecorder } from './recorder.ts';
import type { ExplainSettings, FindKey } from '../policy/part-explain.ts';
import type { ExplainedMessage, ExplainMessage } from './messages.ts';

export interface ExplainWorkerParts {
  readonly explain: Explain;
  readonly recorder: ExchangeRecorder;
  readonly debugTokens: DebugTokens;
  readonly live: LiveTap;
  readonly settings: ExplainSettings;
  readonly findKey: FindKey;
}

/** Never rejects. */
export async function answerExplain(
  message: ExplainMessage,
  parts: ExplainWorkerParts,
): Promise<ExplainedMessage> {
  const { id } = message;
  switch (message.type) {
    case 'explain':
      try {
        return { type: 'explained', id, explanation: await parts.explain(message.input), error: undefined };
      } catch (error) {
        return { type: 'explained', id, explanation: undefined, error: String(error) };
      }
    case 'explain_recorded': {
      const found = parts.recorder.explain(message.name, parts.settings, parts.findKey);
      const { explanation, request } = found ?? {};
      return { type: 'explained', id, explanation, request, error: undefined };
    }
    case 'explain_setup':
      parts.recorder.sample(message.setup.sampling);
      parts.debugTokens.set(message.setup.debugTokens);
      parts.live.watch(message.setup.watches);
      return { type: 'explained', id, explanation: undefined, error: undefined };
  }
}
