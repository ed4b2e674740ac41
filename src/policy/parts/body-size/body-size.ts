/**
 * The length of a request body that its head announces (`max_body_bytes`, else the setting). Asked before the caps
 * and limits, so that a body which can never pass takes nothing of them. What a chunked body comes to is measured
 * while it is passed on (proxy/downstream/request-body.ts), and `max_body_bytes` in shadow mode when the exchange has ended
 * (proxy/body-shadow.ts).
 */
import type { ReasonKind } from '../../../model/reason.ts';
import type { Denial, NamedStage } from '../../stage.ts';

export const BODY_TOO_LARGE: ReasonKind<{ readonly bytesMax: number }> = {
  code: 'body_too_large',
  detail: ({ bytesMax }) => `The request body is larger than ${bytesMax} bytes`,
};

/**
 * @param bytesMax the longest body; 0: unlimited
 * @returns undefined where there is nothing to ask
 */
export function compileBodySize(bytesMax: number): NamedStage | undefined {
  if (bytesMax === 0) return undefined;
  const denial: Denial = Object.freeze({ kind: BODY_TOO_LARGE, data: { bytesMax } });
  return {
    part: 'max_body_bytes',
    shadow: false,
    run: (facts) => (facts.announcedBytes > bytesMax ? denial : undefined),
  };
}
