/**
 * One health check: a GET of `health_check_path` on its own connection, with the engine that sends requests (names,
 * TLS, strict parsing of responses). Owns the connection until the status arrives; reads no body. Decides whether the
 * response is good; the caller acts on it.
 */
import type { Clock } from '../../lib/clock.ts';
import type { ProbeSettings } from '../../model/resources.ts';
import type { UpstreamPool } from '../../proxy/upstream/pool.ts';
import type { RequestSource, UpstreamClient } from '../../proxy/upstream/upstream.ts';
import { failureText } from '../../proxy/upstream/upstream-failure.ts';
import type { CompiledBackend } from '../../config/types.ts';

export type ProbeRules = Required<Omit<ProbeSettings, 'interval_ms'>>;

export const PROBE_DEFAULTS: ProbeRules = Object.freeze({
  timeout_ms: 2_000,
  healthy_threshold: 1,
  unhealthy_threshold: 3,
  expected_statuses: ['2xx', '3xx'],
});

const USER_AGENT = 'headgate-health-check';

export interface ProbeResult {
  readonly ok: boolean;
  /** undefined without a response. */
  readonly status: number | undefined;
  readonly error: string | undefined;
  /** The gateway must not connect to this address, which says nothing about the backend. */
  readonly isDenied: boolean;
  readonly durationMs: number;
}

/** Never rejects: every failure is a result. */
export function probe(
  backend: CompiledBackend,
  path: string,
  rules: ProbeRules,
  pool: UpstreamPool,
  clock: Clock,
): Promise<ProbeResult> {
  const startedMs = clock.monotonicMs();
  return new Promise((resolve) => {
    let upstream = pool.openApart(backend);
    const end = (status: number | undefined, error: string | undefined, isDenied = false): void => {
      clearTimeout(timer);
      upstream.destroy();
      const durationMs = clock.monotonicMs() - startedMs;
      resolve({ ok: error === undefined, status, error, isDenied, durationMs });
    };
    const timer = setTimeout(
      () => end(undefined, `no answer within ${rules.timeout_ms} ms`),
      rules.timeout_ms,
    );
    const nothing = (): void => undefined;
    const client: UpstreamClient = {
      onUpstreamConnected: () => upstream.sendRequest(requestOf(backend, path), ''),
      onOtherProtocol: () => {
        upstream = pool.open(backend);
        upstream.acquire(client, 'GET', undefined);
      },
      onResponseHead: ({ status }) =>
        end(
          status,
          isExpected(status, rules.expected_statuses) ? undefined : `status ${status} is not expected`,
        ),
      onUpstreamFailure: (failure) => end(undefined, failureText(failure), failure.cause === 'denied'),
      onDefect: (error) => end(undefined, `the answer could not be read: ${String(error)}`),
      onInterim: nothing,
      onSwitch: () => end(undefined, 'the backend switched protocols'),
      onResponseData: nothing,
      onResponseEnd: nothing,
      onReadEnd: nothing,
      onUpstreamWritable: nothing,
    };
    upstream.acquire(client, 'GET', undefined);
  });
}

/** @param expected statuses, and classes such as `2xx` */
export function isExpected(status: number, expected: readonly (number | string)[]): boolean {
  return expected.some((each) => each === status || each === `${Math.floor(status / 100)}xx`);
}

function requestOf({ hostField, scheme }: CompiledBackend, path: string): RequestSource {
  return {
    headText: () =>
      `GET ${path} HTTP/1.1\r\nHost: ${hostField}\r\nUser-Agent: ${USER_AGENT}\r\nAccept: */*\r\nConnection: close\r\n\r\n`,
    headFields: () => [
      ':method',
      'GET',
      ':scheme',
      scheme,
      ':authority',
      hostField,
      ':path',
      path,
      'user-agent',
      USER_AGENT,
      'accept',
      '*/*',
    ],
    isChunked: false,
  };
}
