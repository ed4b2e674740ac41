/**
 * The policy part `max_body_bytes`: the longest request body; without it, the setting applies. The announced length is
 * checked before the caps and limits, so that a body that can never pass uses up none of them. The length of a chunked
 * body is measured while it is passed on (proxy/downstream/request-body.ts). A limit in shadow mode is compared when
 * the exchange has ended (proxy/body-shadow.ts).
 */
import { Type } from 'typebox';
import type { ReasonKind } from '../../../model/reason.ts';
import { ofSettings } from '../../part-explain.ts';
import { definePart, type CompileContext, type PartContribution } from '../../part.ts';
import type { Denial, NamedStage, ShadowDenial } from '../../stage.ts';

const BODY_TOO_LARGE: ReasonKind<{ readonly bytesMax: number }> = {
  code: 'body_too_large',
  detail: ({ bytesMax }) => `The request body is larger than ${bytesMax} bytes`,
};

const BODY_SETTING = 'GATEWAY_PROXY__MAX_BODY_BYTES';

export const BODY_SIZE = definePart({
  name: 'max_body_bytes',
  schema: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description:
      'Longest request body in bytes (413), in place of `GATEWAY_PROXY__MAX_BODY_BYTES`. With 0, that setting applies.',
  }),
  docs: {
    summary:
      'longest request body; replaces `GATEWAY_PROXY__MAX_BODY_BYTES`, which applies if the value is 0 or absent',
    example: 1_048_576,
    inShadow: {
      request: 'is treated as if the route had no `max_body_bytes`: `GATEWAY_PROXY__MAX_BODY_BYTES` applies',
      noted:
        'longer bodies that were sent to a backend; the length of a chunked body is known only at its end',
    },
  },
  off: { example: 0, note: '`GATEWAY_PROXY__MAX_BODY_BYTES` applies', is: (bytes) => bytes === 0 },
  mayShadow: true,
  stages: [{ name: 'max_body_bytes', phase: 'message' }],
  explain: {
    // The length of a chunked body shows only while it is passed on.
    engineStages: { body_too_large: 'max_body_bytes' },
    decider: (_stage, _value, { own, maxBodyBytes }) =>
      own ?? (maxBodyBytes > 0 ? ofSettings(maxBodyBytes) : undefined),
    fix: (_denial, _value, { policy, bodyBytes, maxBodyBytes }) =>
      policy.maxBodyBytes > 0
        ? {
            action: 'set_policy',
            detail: `Send at most ${policy.maxBodyBytes} bytes, or raise max_body_bytes`,
            target: { part: 'max_body_bytes' },
            value: { max_body_bytes: bodyBytes },
          }
        : {
            action: 'shorten_request',
            detail: `Send at most ${maxBodyBytes} bytes, or raise ${BODY_SETTING}`,
            target: { type: 'setting', id: BODY_SETTING },
            value: bodyBytes,
          },
  },
  isProtective: true,
  settings: {
    schema: Type.Integer(),
    of: ({ maxBodyBytes }) => (maxBodyBytes > 0 ? maxBodyBytes : undefined),
  },
  compile: compileBodySize,
});

function compileBodySize(
  value: number | undefined,
  { dependencies, inShadow }: CompileContext<undefined>,
): PartContribution {
  const bytes = value ?? 0;
  const maxBodyBytes = inShadow ? 0 : bytes;
  return {
    stages: announcedStages(maxBodyBytes || dependencies.maxBodyBytes),
    data: { maxBodyBytes, shadowBodyBytes: inShadow ? bytes : 0 },
  };
}

/** The denial of a body that was longer than a limit in shadow mode. */
export function bodyShadowDenial(bytesMax: number): ShadowDenial {
  return { part: BODY_SIZE.name, denial: { kind: BODY_TOO_LARGE, data: { bytesMax } } };
}

/** @param bytesMax 0: unlimited */
function announcedStages(bytesMax: number): NamedStage[] {
  if (bytesMax === 0) return [];
  const denial: Denial = Object.freeze({ kind: BODY_TOO_LARGE, data: { bytesMax } });
  return [
    {
      part: 'max_body_bytes',
      shadow: false,
      run: (facts) => (facts.announcedBytes > bytesMax ? denial : undefined),
    },
  ];
}
