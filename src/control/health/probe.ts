/**
 * One health check on its own connection, with the engine that sends requests (names, TLS, strict parsing of
 * responses): a GET or a gRPC call. Owns the connection until the answer is known. Decides whether the answer is
 * good; the caller acts on it.
 */
import type { Clock } from '../../lib/clock.ts';
import type { UpstreamPool } from '../../proxy/upstream/pool/pool.ts';
import type { UpstreamClient } from '../../proxy/upstream/upstream.ts';
import { failureText, isUntried } from '../../proxy/upstream/upstream-failure.ts';
import type { CompiledBackend } from '../../config/types.ts';
import { grpcQuestion } from './grpc-question.ts';
import { httpQuestion } from './http-question.ts';
import type { ProbeRules, Verdict } from './probe-question.ts';

export const PROBE_DEFAULTS: ProbeRules = Object.freeze({
  protocol: 'http',
  service: '',
  timeout_ms: 2_000,
  healthy_threshold: 1,
  unhealthy_threshold: 3,
  expected_statuses: ['2xx', '3xx'],
});

export interface ProbeResult {
  readonly ok: boolean;
  /** The HTTP status; undefined without a response. */
  readonly status: number | undefined;
  /** A good answer, for people: `200`, `SERVING`. */
  readonly answer: string | undefined;
  readonly error: string | undefined;
  /** The gateway must not connect to this address, or could not, which says nothing about the backend. */
  readonly isUntried: boolean;
  readonly durationMs: number;
}

/** Never rejects: every failure is a result. @param path path of the request; not used with gRPC */
export function probe(
  backend: CompiledBackend,
  path: string,
  rules: ProbeRules,
  pool: UpstreamPool,
  clock: Clock,
): Promise<ProbeResult> {
  const isGrpc = rules.protocol === 'grpc';
  const question = isGrpc ? grpcQuestion(backend, rules) : httpQuestion(backend, path, rules);
  const { method } = question;
  const reader = question.reader();
  const startedMs = clock.monotonicMs();
  return new Promise((resolve) => {
    let upstream = pool.openApart(question.backend);
    let status: number | undefined;
    const end = (verdict: Verdict | undefined, wasUntried = false): void => {
      if (verdict === undefined) return;
      clearTimeout(timer);
      upstream.destroy();
      const durationMs = clock.monotonicMs() - startedMs;
      const answer = 'answer' in verdict ? verdict.answer : undefined;
      const error = 'error' in verdict ? verdict.error : undefined;
      resolve({ ok: error === undefined, status, answer, error, isUntried: wasUntried, durationMs });
    };
    const timer = setTimeout(
      () => end({ error: `no ${reader.missing} within ${rules.timeout_ms} ms` }),
      rules.timeout_ms,
    );
    const nothing = (): void => undefined;
    const client: UpstreamClient = {
      onUpstreamConnected: () => upstream.sendRequest(question.source, question.body),
      onOtherProtocol: () => {
        upstream = pool.open(backend);
        upstream.acquire(client, method, undefined);
      },
      onResponseHead: (head) => {
        ({ status } = head);
        end(reader.head(head));
      },
      onResponseData: (buffer, from, to) => end(reader.data(buffer.subarray(from, to))),
      onResponseEnd: (trailers) => end(reader.end(trailers)),
      onUpstreamFailure: (failure) => end({ error: failureText(failure) }, isUntried(failure)),
      onDefect: (error) => end({ error: `the answer could not be read: ${String(error)}` }),
      onInterim: nothing,
      onSwitch: () => end({ error: 'the backend switched protocols' }),
      onReadEnd: nothing,
      onUpstreamWritable: nothing,
    };
    upstream.acquire(client, method, undefined);
  });
}
