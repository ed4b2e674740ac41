/** What a server that is no gateway puts into its answers is not obeyed by the terminal of a person. */
import { once } from 'node:events';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { headgate } from './cli.fixture.ts';

const SIGNS = '\u001b]0;title\u0007\u009b31m\u202e';
const event = {
  id: `id${SIGNS}`,
  at: `2026-01-01T00:00:00.000Z${SIGNS}`,
  type: `app.created${SIGNS}`,
  node: `n${SIGNS}`,
  subject: { kind: `app${SIGNS}`, id: `1${SIGNS}`, name: `a${SIGNS}` },
  data: { [`field${SIGNS}`]: `value${SIGNS}` },
};
const refusal = {
  detail: `no${SIGNS}`,
  errors: [{ pointer: `/config/a${SIGNS}`, detail: `is wrong${SIGNS}`, file: 'x' }, 5, { pointer: '/b' }],
};
const server = http.createServer(({ url = '', method }, response) => {
  const isText = url.startsWith('/metrics');
  response.setHeader('content-type', isText ? 'text/plain' : 'application/json');
  if (method === 'POST') return response.writeHead(422).end(JSON.stringify(refusal));
  const page = { limit: 50, total: 1, next_cursor: null };
  response.end(
    isText
      ? `# HELP a ${SIGNS}\na{b="${SIGNS}"} 1\n`
      : JSON.stringify({ status: 200, message: SIGNS, data: [event], page }),
  );
});
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => void server.close());

it.each([['events'], ['metrics'], ['metrics', 'a{b']])('headgate %s %s', async (...args) => {
  const { port } = server.address() as AddressInfo;
  const { out, err } = await headgate({ url: `http://127.0.0.1:${port}/api/v1` }, args);
  expect(out, err).toContain('?]0;title??31m?');
  expect(out.replaceAll('\n', '')).toMatch(/^[ -~]+$/);
});

it.each([
  ['api', 'GET', '/apps'],
  ['events', '--output', 'json'],
])('headgate %s %s %s is the same data', async (...args) => {
  const { port } = server.address() as AddressInfo;
  const { out, err } = await headgate({ url: `http://127.0.0.1:${port}/api/v1` }, args);
  expect(JSON.parse(out), err).toEqual([event]);
  expect(out.replaceAll('\n', '')).toMatch(/^[ -~]+$/);
});

it.each([
  [['api', 'POST', '/apps', '{}'], 'no?]0;title??31m?\n  /config/a?]0;title??31m? is wrong?]0;title??31m?'],
  [
    ['config', 'plan', '-'],
    'headgate: no?]0;title??31m?\n<stdin>:1:1: /a?]0;title??31m? is wrong?]0;title??31m?\n',
  ],
])('headgate %j, which is refused', async (args, expected) => {
  const { port } = server.address() as AddressInfo;
  const { err } = await headgate({ url: `http://127.0.0.1:${port}/api/v1` }, args, {}, 'apps: {}\n');
  expect(err).toBe(expected);
});
