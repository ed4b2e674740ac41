/** What a policy part that edits fields does to the messages of an exchange, beside what the gateway writes itself. */
import { Type } from 'typebox';
import { afterEach, expect, test } from 'vitest';
import { definePart } from '../../../src/policy/part.ts';
import { PARTS, type Policy } from '../../../src/policy/registry.ts';
import { startRawOrigin } from '../../support/backends/origin.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';

const EDITS = definePart({
  name: 'edits',
  schema: Type.Boolean({ description: 'Renames and adds fields.' }),
  docs: { summary: 'a test', example: true },
  mayShadow: false,
  compile: (value) =>
    value === true
      ? {
          requestFields: {
            nameOf: (name) => ({ 'x-old': 'X-New', 'x-drop': '' })[name.toLowerCase()],
            lines: (of) =>
              `X-Added: ${of.clientIp} ${of.requestId} ${of.pathParameter('id')} ${of.header('x-old')}\r\n`,
          },
          responseFields: {
            nameOf: (name) => ({ server: '', 'x-inner': 'X-Outer' })[name.toLowerCase()],
            lines: ({ requestId }) => `X-Answer: ${requestId}\r\n`,
          },
        }
      : undefined,
});

const ANSWER =
  'HTTP/1.1 200 OK\r\nServer: s\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\nX-Inner: 1\r\nContent-Length: 0\r\n\r\n';
let proxy: TestProxy;
afterEach(() => proxy.close());

test('fields are renamed, dropped and added in both directions, for each request anew', async () => {
  const origin = await startRawOrigin((socket, received) => {
    if (received.endsWith('\r\n\r\n')) socket.write(ANSWER);
  });
  const policy = { edits: true } as Policy;
  const endpoints = [{ path: '/item/{id}' }];
  proxy = await startProxy(oneRoute({ backendPort: origin.port, policy, endpoints }), {
    parts: [...PARTS, EDITS],
  });
  const requestOf = (id: string): string =>
    `GET /a/v1/item/${id} HTTP/1.1\r\nHost: a\r\nX-Old: v\r\nX-Drop: d\r\nX-Stay: s\r\n\r\n`;
  const ids: (string | undefined)[] = [];
  const client = await connectRaw(proxy.port);
  for (const id of ['1', '2', '3']) {
    client.write(requestOf(id));
    const { headers } = await client.response();
    expect(headers).toMatchObject({ 'x-answer': headers['x-request-id'], 'x-outer': '1' });
    ids.push(headers['x-request-id']);
    expect(Object.keys(headers)).not.toContain('server');
    expect(Object.keys(headers)).not.toContain('x-inner');
  }
  client.end();
  const seen = origin.received.join('');
  expect(seen.match(/X-New: v\r\nX-Stay: s\r\n/g)).toHaveLength(3);
  expect(new Set(ids).size).toBe(3);
  ids.forEach((id, index) => expect(seen).toContain(`X-Added: 127.0.0.1 ${id} ${index + 1} v\r\n`));
  expect(seen).not.toMatch(/x-old|x-drop/i);
  await origin.close();
});

test('trailers and interim responses pass through the editors, answers of the gateway get what they add', async () => {
  const origin = await startRawOrigin((socket, received) => {
    if (received.endsWith('0\r\n\r\n') || received.endsWith('X-Sum: 7\r\n\r\n'))
      socket.write(
        'HTTP/1.1 103 Early Hints\r\nServer: s\r\nX-Inner: 0\r\n\r\n' +
          'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Inner: 2\r\nX-Left: 3\r\n\r\n',
      );
  });
  const policy = { edits: true, allowed_methods: ['POST'] } as Policy;
  proxy = await startProxy(oneRoute({ backendPort: origin.port, policy }), { parts: [...PARTS, EDITS] });
  const client = await connectRaw(proxy.port);
  client.write(
    'POST /a/v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Drop: d\r\nX-Old: v\r\nX-Sum: 7\r\n\r\n',
  );
  expect((await client.response()).interim).toEqual([103]);
  expect(client.received()).toContain('103 Early Hints\r\nX-Outer: 0\r\n\r\n');
  expect(client.received()).toContain('0\r\nX-Outer: 2\r\nX-Left: 3\r\n\r\n');
  expect(origin.received.join('')).toMatch(/0\r\nX-New: v\r\nX-Sum: 7\r\n\r\n$/);
  client.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
  const { status, headers } = await client.response();
  expect([status, headers['x-answer']]).toEqual([405, headers['x-request-id']]);
  client.end();
  await origin.close();
});
