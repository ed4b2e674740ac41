/**
 * All fuzzers. To add one, write a `Fuzzer` in a file of its own and list it here; it then runs in the smoke test and
 * by `node test/fuzz/run.ts NAME`.
 */
import { base64Fuzzer } from './base64.ts';
import { canary } from './canary.ts';
import { certificateFuzzer, clientHelloFuzzer, revocationListFuzzer } from './certificates.ts';
import { chunkedFuzzer } from './chunked.ts';
import { differentialFuzzer, differentialResponseFuzzer } from './differential.ts';
import { grpcMessagesFuzzer } from './grpc-messages.ts';
import { findHeadEndFuzzer, requestHeadFuzzer, responseHeadFuzzer, splitFuzzer } from './heads.ts';
import { hpackFuzzer } from './hpack.ts';
import { http2RequestFuzzer, http2TrailersFuzzer } from './http2.ts';
import { http2ClientsFuzzer, http2ResponsesFuzzer } from './http2-clients.ts';
import { http2FramesFuzzer } from './http2-frames.ts';
import { otlpAnswersFuzzer } from './otlp-answers.ts';
import { pathFuzzer } from './paths.ts';
import { proxyHeaderFuzzer } from './proxy-headers.ts';
import { repeatedRequestsFuzzer, repeatedResponsesFuzzer } from './repeated.ts';
import type { Fuzzer } from './fuzzer.ts';

export const fuzzers: readonly Fuzzer[] = [
  requestHeadFuzzer,
  responseHeadFuzzer,
  splitFuzzer,
  findHeadEndFuzzer,
  differentialFuzzer,
  differentialResponseFuzzer,
  chunkedFuzzer,
  pathFuzzer,
  repeatedRequestsFuzzer,
  repeatedResponsesFuzzer,
  http2RequestFuzzer,
  http2TrailersFuzzer,
  http2FramesFuzzer,
  http2ClientsFuzzer,
  http2ResponsesFuzzer,
  hpackFuzzer,
  proxyHeaderFuzzer,
  grpcMessagesFuzzer,
  base64Fuzzer,
  certificateFuzzer,
  revocationListFuzzer,
  clientHelloFuzzer,
  otlpAnswersFuzzer,
];

/** Must fail; not in the list, so that a run of all fuzzers can pass. */
export { canary };
