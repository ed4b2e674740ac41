/** What one health check sends, and how its answer is judged; probe.ts sends it. */
import type { ProbeSettings } from '../../model/resources.ts';
import type { ResponseHead } from '../../http/heads/response-head.ts';
import type { RequestSource } from '../../proxy/upstream/upstream.ts';
import type { CompiledBackend } from '../../config/types.ts';

export type ProbeRules = Required<Omit<ProbeSettings, 'interval_ms'>>;

export const USER_AGENT = 'headgate-health-check';

/** The result: what the answer was, or what is wrong with it, for people. */
export type Verdict = { readonly answer: string } | { readonly error: string };

/** Each method returns the verdict as soon as it is known; nothing follows it. */
export interface AnswerReader {
  /** What has not arrived yet, for people. */
  readonly missing: string;
  /** The head is valid only during the call. */
  head(head: ResponseHead): Verdict | undefined;
  data(bytes: Buffer): Verdict | undefined;
  /** @param trailers lines, each ending in CRLF */
  end(trailers: string): Verdict;
}

export interface ProbeQuestion {
  /** Where to send the check; its protocol may differ from that of the traffic. */
  readonly backend: CompiledBackend;
  readonly method: string;
  readonly source: RequestSource;
  /** Text in latin1. */
  readonly body: string;
  reader(): AnswerReader;
}
