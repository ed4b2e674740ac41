/** What every answer of the management API has in common, as checks for black-box tests. */
import { expect } from 'vitest';
import { errorRow } from '../../src/policy/error-table.ts';
import type { ErrorCode } from '../../src/model/errors.ts';
import { WARNINGS } from '../../src/policy/policy-warnings.ts';
import type { Answer, TestGateway } from './gateway.ts';

export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const RFC3339_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
/** An id of the right form that no record has. */
export const NO_SUCH_ID = '01980000-0000-7000-8000-000000000000';

/** The success envelope around one thing, perhaps with warnings; returns `data`. */
// oxlint-disable-next-line typescript/no-explicit-any -- answers are looked into freely by tests
export function expectData(answer: Answer, status = 200): any {
  expect(answer.status, JSON.stringify(answer.body)).toBe(status);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.headers.get('x-request-id')).toMatch(/\S/);
  const members = ['status', 'message', 'data'];
  const { warnings } = answer.body;
  expect(Object.keys(answer.body)).toEqual(warnings === undefined ? members : [...members, 'warnings']);
  for (const each of warnings ?? []) {
    expect(each).toEqual({
      pointer: expect.any(String),
      code: expect.toBeOneOf(Object.keys(WARNINGS)),
      detail: expect.stringMatching(/\S/),
    });
  }
  if (warnings !== undefined) expect(warnings).not.toEqual([]);
  expect(answer.body.status).toBe(status);
  expect(answer.body.message).toMatch(/\S/);
  return answer.body.data;
}

/** The success envelope around a page of a list; returns `data` and `page`. */
// oxlint-disable-next-line typescript/no-explicit-any -- answers are looked into freely by tests
export function expectPage(answer: Answer): { readonly data: any[]; readonly page: any } {
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(Object.keys(answer.body)).toEqual(['status', 'message', 'data', 'page']);
  expect(answer.body.status).toBe(200);
  expect(answer.body.message).toMatch(/\S/);
  expect(Object.keys(answer.body.page)).toEqual(['limit', 'next_cursor', 'total']);
  expect(answer.body.data).toBeInstanceOf(Array);
  return answer.body;
}

/** A whole record: version 7 id, times in UTC. Returns it. */
// oxlint-disable-next-line typescript/no-explicit-any -- see expectData
export function expectRecord<T extends Record<string, any>>(record: T): T {
  expect(record['id']).toMatch(UUID_V7);
  expect(record['created_at']).toMatch(RFC3339_UTC);
  expect(record['updated_at']).toMatch(RFC3339_UTC);
  return record;
}

/**
 * One RFC 9457 document that also reads as the envelope, with every member checked. With `pointers`, the document
 * has an entry for each of them and no others; without, it has no `errors`. Returns the document.
 */
export function expectProblem(
  answer: Answer,
  code: ErrorCode,
  { pointers, instance }: { readonly pointers?: readonly string[]; readonly instance?: string } = {},
  // oxlint-disable-next-line typescript/no-explicit-any -- see expectData
): any {
  const shown = JSON.stringify(answer.body);
  expect([answer.status, answer.body?.code], shown).toEqual([errorRow(code).status, code]);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  const { body } = answer;
  const members = ['type', 'title', 'status', 'detail', 'instance', 'code', 'message', 'data', 'request_id'];
  expect(Object.keys(body), shown).toEqual(pointers === undefined ? members : [...members, 'errors']);
  expect(body.type).toBe(`urn:headgate:error:${code}`);
  expect(body.title).toBe(errorRow(code).title);
  expect(body.status).toBe(answer.status);
  expect(body.detail).toMatch(/\S/);
  expect(body.message).toBe(body.detail);
  expect(body.data).toBeNull();
  expect(body.request_id).toMatch(/\S/);
  expect(body.request_id).toBe(answer.headers.get('x-request-id'));
  expect(body.instance).toMatch(/^\//);
  if (instance !== undefined) expect(body.instance).toBe(instance);
  if (pointers !== undefined) {
    // oxlint-disable-next-line typescript/no-explicit-any -- see expectData
    const found: string[] = body.errors.map((error: any) => error.pointer);
    expect([...new Set(found)].sort(), shown).toEqual([...pointers].sort());
    for (const error of body.errors) {
      expect(Object.keys(error)).toEqual(['pointer', 'detail']);
      expect(error.detail).toMatch(/\S/);
    }
  }
  return body;
}

/** A management call with another token, or with none. */
export function apiAs(
  gateway: TestGateway,
  token: string | null,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  return callPlain(gateway, token === null ? {} : { authorization: `Bearer ${token}` }, method, path, body);
}

/** A management call with exactly these header fields. */
export async function callPlain(
  gateway: TestGateway,
  headers: Readonly<Record<string, string>>,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const url = path.startsWith('//') ? gateway.base + path.slice(1) : `${gateway.base}/api/v1${path}`;
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : isJson ? JSON.parse(text) : text,
  };
}
