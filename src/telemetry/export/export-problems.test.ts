/** What is said about exports that a collector did not accept. How it is said to real collectors: collector.test.ts. */
import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';
import { ProtobufWriter } from '../otlp/protobuf-writer.ts';
import { isWebPage, problemOfError, problemOfStatus } from './export-problems.ts';

const URL_OF_TRACES = 'https://collector.example/otlp/v1/traces';

interface Answer {
  readonly status: number;
  readonly fields?: IncomingHttpHeaders;
  readonly body?: string | Uint8Array;
  readonly isCompressed?: boolean;
}

function problemOf({ status, fields = {}, body = '', isCompressed = false }: Answer): string {
  const answered = { status, fields, answer: Buffer.from(body) };
  return problemOfStatus(answered, { signal: 'traces', url: URL_OF_TRACES, isCompressed });
}

function statusOf(message: string): Uint8Array {
  const writer = new ProtobufWriter();
  writer.varint(1, 16);
  writer.string(2, message);
  return writer.bytes;
}

const PROTOBUF = { 'content-type': 'application/x-protobuf' };

describe('the problem', () => {
  it.each<[string, Answer, string]>([
    [
      'a redirect, to where, without its query and user',
      { status: 308, fields: { location: 'https://key:pw@other.example/v1/traces?token=secret' } },
      'redirects are not followed: set the whole URL https://other.example/v1/traces in GATEWAY_OTEL__TRACES_ENDPOINT',
    ],
    [
      'a redirect to another path',
      { status: 302, fields: { location: '/login' } },
      'redirects are not followed: set the whole URL https://collector.example/login in GATEWAY_OTEL__TRACES_ENDPOINT',
    ],
    ['a redirect without a target', { status: 307 }, 'redirects are not followed'],
    [
      'a redirect to nothing usable',
      { status: 307, fields: { location: 'data:,x' } },
      'redirects are not followed',
    ],
    [
      'a port with TLS',
      { status: 400, body: 'Client sent an HTTP request to an HTTPS server.\n' },
      'its port has TLS, so the URL must begin with https://',
    ],
    ['credentials', { status: 401 }, 'check GATEWAY_OTEL__HEADERS and the client certificate'],
    [
      'what the collector says to operators',
      { status: 403, fields: PROTOBUF, body: statusOf('tenant is blocked') },
      'tenant is blocked: check GATEWAY_OTEL__HEADERS and the client certificate',
    ],
    [
      'a path',
      { status: 404 },
      'it accepts no traces at this path. /v1/traces is added to GATEWAY_OTEL__ENDPOINT, and nothing to GATEWAY_OTEL__TRACES_ENDPOINT',
    ],
    [
      'compression',
      { status: 415 },
      'it may accept only compressed exports (GATEWAY_OTEL__COMPRESSION=gzip)',
    ],
    [
      'exports without a length',
      { status: 411, isCompressed: true },
      'it accepts only exports without compression (GATEWAY_OTEL__COMPRESSION=none)',
    ],
    [
      'no compression',
      { status: 415, isCompressed: true },
      'it may accept only exports without compression (GATEWAY_OTEL__COMPRESSION=none)',
    ],
    [
      'a page for browsers',
      { status: 200, fields: { 'content-type': 'text/html; charset=utf-8' }, body: '\n<!DOCTYPE html>' },
      'with a web page, so it accepts no traces at this URL',
    ],
  ])('names %s', (_what, answer, advice) => {
    expect(problemOf(answer)).toBe(`the collector answers ${answer.status}: ${advice}`);
  });

  it.each<[string, Answer]>([
    ['without a reason', { status: 500 }],
    ['with a body that is not for operators', { status: 400, body: 'the span of user secret' }],
    [
      'with a body that is not what it is called',
      { status: 400, fields: PROTOBUF, body: 'the span of secret' },
    ],
  ])('is the status alone %s', (_what, answer) => {
    expect(problemOf(answer)).toBe(`the collector answers ${answer.status}`);
  });

  it('has a bound', () => {
    const problem = problemOf({ status: 400, fields: PROTOBUF, body: statusOf('x'.repeat(10_000)) });
    expect(problem).toHaveLength(300);
  });
});

it.each<[string, string, string, boolean]>([
  ['a page', 'text/html', '<html>', true],
  ['an accepted export without a body', 'text/html', '', false],
  ['a word', 'text/html', 'OK', false],
  ['an accepted export', 'application/x-protobuf', '', false],
])('%s is told apart from a web page', (_what, type, body, isPage) => {
  const answered = { status: 200, fields: { 'content-type': type }, answer: Buffer.from(body) };
  expect(isWebPage(answered)).toBe(isPage);
});

it('reports what several addresses of a name have answered', () => {
  const refused = new Error('connect ECONNREFUSED ::1:4318');
  expect(problemOfError(new AggregateError([refused]))).toBe('connect ECONNREFUSED ::1:4318');
  expect(problemOfError(new Error(''))).toBe('the export failed');
});

it('says that a port is one for gRPC', () => {
  const error = Object.assign(new Error('Parse Error: Expected HTTP/'), { code: 'HPE_INVALID_CONSTANT' });
  expect(problemOfError(error)).toContain(
    'if its port is for gRPC, such as 4317, take the one for OTLP over HTTP, such as 4318',
  );
});
