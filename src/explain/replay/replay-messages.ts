/** The questions of the main thread to the thread that tries configurations (replay-worker.ts), and its answers. */
import type { ConfigChange } from '../../model/config.ts';
import type { TriedExplanation, TriedRequest } from '../explain-access.ts';
import type { ReplayJob, ReplayResult } from './replay.ts';

export type TrialQuestion =
  | { readonly type: 'replay'; readonly job: ReplayJob }
  /** Explains a request on a whole configuration. */
  | { readonly type: 'explain'; readonly config: ConfigChange; readonly request: TriedRequest };

export type TrialAnswer =
  | { readonly type: 'replayed'; readonly result: ReplayResult }
  | { readonly type: 'explained'; readonly tried: TriedExplanation }
  /** The configuration does not compile, or a defect. */
  | { readonly type: 'failed'; readonly message: string };
