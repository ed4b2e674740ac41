/**
 * A health check with the gRPC health service (grpc.health.v1.Health/Check), always over HTTP/2, even if the traffic
 * uses another protocol. Only a complete call that ends with SERVING is a good answer.
 * https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 */
import { fieldsOfLines } from '../../http/fields/field-lists.ts';
import type { ResponseHead } from '../../http/heads/response-head.ts';
import { healthRequest, servingStatus } from '../../http/grpc/health-message.ts';
import { grpcCodeName, grpcMessage, OneMessage } from '../../http/grpc/grpc-messages.ts';
import type { CompiledBackend } from '../../config/types.ts';
import {
  USER_AGENT,
  type AnswerReader,
  type ProbeQuestion,
  type ProbeRules,
  type Verdict,
} from './probe-question.ts';

const CHECK_PATH = '/grpc.health.v1.Health/Check';
/** An answer has two bytes. */
const ANSWER_BYTES_MAX = 1_024;
/** Limit of the backend's own words in an error. */
const WORDS_MAX = 200;
const OK = '0';
/** Codes with a special meaning in health checks. */
const EXPLAINED: Readonly<Record<string, (service: string) => string>> = {
  UNIMPLEMENTED: () => 'the backend has no health service of gRPC',
  NOT_FOUND: (service) => `the backend does not know the service ${JSON.stringify(service)}`,
};

export function grpcQuestion(backend: CompiledBackend, rules: ProbeRules): ProbeQuestion {
  const { hostField, scheme } = backend;
  return {
    backend: { ...backend, protocol: 'h2' },
    method: 'POST',
    body: grpcMessage(healthRequest(rules.service)).toString('latin1'),
    source: {
      // Never called: the backend is only asked over HTTP/2.
      headText: () => '',
      headFields: () => [
        ':method',
        'POST',
        ':scheme',
        scheme,
        ':authority',
        hostField,
        ':path',
        CHECK_PATH,
        'te',
        'trailers',
        'content-type',
        'application/grpc',
        'user-agent',
        USER_AGENT,
        'grpc-timeout',
        `${rules.timeout_ms}m`,
      ],
      isChunked: false,
    },
    reader: () => new GrpcAnswer(rules.service),
  };
}

class GrpcAnswer implements AnswerReader {
  missing = 'answer';
  readonly #service: string;
  readonly #message = new OneMessage(ANSWER_BYTES_MAX);
  /** The status in a response that consists only of a head. */
  #status: string | undefined;
  #words: string | undefined;

  constructor(service: string) {
    this.#service = service;
  }

  head(head: ResponseHead): Verdict | undefined {
    this.missing = 'end of the call';
    const type = head.get('content-type');
    if (head.status !== 200)
      return { error: `status ${head.status} is not valid for gRPC, which always answers with 200` };
    if (type === undefined || !/^application\/grpc(?:$|[+;])/i.test(type))
      return { error: 'the content-type of the answer is not application/grpc' };
    this.#status = head.get('grpc-status');
    this.#words = head.get('grpc-message');
    return undefined;
  }

  data(bytes: Buffer): Verdict | undefined {
    const wrong = this.#message.add(bytes);
    return wrong === undefined ? undefined : { error: `the answer cannot be read: ${wrong}` };
  }

  end(trailers: string): Verdict {
    const fields = fieldsOfLines(trailers);
    const status = valueOf(fields, 'grpc-status') ?? this.#status;
    if (status === undefined) return { error: 'the call ended without a grpc-status' };
    if (status !== OK)
      return { error: this.#refusal(status, valueOf(fields, 'grpc-message') ?? this.#words) };
    const message = this.#message.whole;
    if (message === undefined) return { error: 'the call ended without an answer' };
    const serving = servingStatus(message);
    if (serving === 'SERVING') return { answer: serving };
    return {
      error: serving === undefined ? 'the answer is not a HealthCheckResponse' : `the backend is ${serving}`,
    };
  }

  #refusal(status: string, words: string | undefined): string {
    const name = grpcCodeName(status);
    const explained = name === undefined ? undefined : EXPLAINED[name]?.(this.#service);
    if (explained !== undefined) return `${explained} (${name})`;
    const text = words === undefined || words === '' ? '' : `: ${words.slice(0, WORDS_MAX)}`;
    return `the call failed with ${name ?? 'a grpc-status that gRPC does not define'}${text}`;
  }
}

/** @param fields names and values alternating */
function valueOf(fields: readonly string[], name: string): string | undefined {
  for (let index = 0; index < fields.length; index += 2)
    if (fields[index]?.toLowerCase() === name) return fields[index + 1];
  return undefined;
}
