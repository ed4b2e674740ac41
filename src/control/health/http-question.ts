/** A health check over HTTP: a GET of `health_check_path`. The status decides; the body is not read. */
import type { CompiledBackend } from '../../config/types.ts';
import { USER_AGENT, type ProbeQuestion, type ProbeRules, type Verdict } from './probe-question.ts';

export function httpQuestion(backend: CompiledBackend, path: string, rules: ProbeRules): ProbeQuestion {
  const { hostField, scheme } = backend;
  return {
    backend,
    method: 'GET',
    body: '',
    source: {
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
    },
    reader: () => ({
      missing: 'answer',
      head: ({ status }) => judge(status, rules),
      data: () => undefined,
      end: () => ({ error: 'the answer has no head' }),
    }),
  };
}

function judge(status: number, rules: ProbeRules): Verdict {
  return isExpected(status, rules.expected_statuses)
    ? { answer: String(status) }
    : { error: `status ${status} is not expected` };
}

/** @param expected statuses, and classes such as `2xx` */
function isExpected(status: number, expected: readonly (number | string)[]): boolean {
  return expected.some((each) => each === status || each === `${Math.floor(status / 100)}xx`);
}
