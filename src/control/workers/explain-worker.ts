/**
 * The worker's side of explain: answers what the main thread asks (explain-control.ts), keeps the recorder and the
 * debug tokens as it is told.
 */
import type { Explain } from '../../explain/explain.ts';
import type { DebugTokens } from '../../explain/debug-header.ts';
import type { FindKey } from '../../explain/fix.ts';
import type { ExchangeRecorder } from '../../explain/recorder.ts';
import type { ExplainSettings } from '../../explain/stages.ts';
import type { ExplainMessage, FromWorker } from './protocol.ts';

export interface ExplainWorkerParts {
  readonly explain: Explain;
  readonly recorder: ExchangeRecorder;
  readonly debugTokens: DebugTokens;
  readonly settings: ExplainSettings;
  readonly findKey: FindKey;
}

/** Never rejects. */
export async function answerExplain(message: ExplainMessage, parts: ExplainWorkerParts): Promise<FromWorker> {
  const { id } = message;
  switch (message.type) {
    case 'explain':
      try {
        return { type: 'explained', id, explanation: await parts.explain(message.input), error: undefined };
      } catch (error) {
        return { type: 'explained', id, explanation: undefined, error: String(error) };
      }
    case 'explain_recorded': {
      const explanation = parts.recorder.explain(message.requestId, parts.settings, parts.findKey);
      return { type: 'explained', id, explanation, error: undefined };
    }
    case 'explain_setup':
      parts.recorder.sample(message.setup.sampling);
      parts.debugTokens.set(message.setup.debugTokens);
      return { type: 'explained', id, explanation: undefined, error: undefined };
  }
}
