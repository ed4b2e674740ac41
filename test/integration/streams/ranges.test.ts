/**
 * Range requests (RFC 9110 section 14) belong to client and backend: the gateway passes the fields on, and whatever
 * comes back. Against a backend that serves ranges as section 14 and 15.3.7 say.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';
import { sendRaw, type RawResponse } from '../../support/clients/raw-client.ts';

const CONTENT = Buffer.from(Array.from({ length: 2_000 }, (_, index) => (index * 7) % 256)).toString(
  'latin1',
);
const ETAG = `"${createHash('sha256').update(CONTENT, 'latin1').digest('hex').slice(0, 16)}"`;
const BOUNDARY = 'THIS_STRING_SEPARATES';

let origin: Origin;
let proxy: TestProxy;
beforeAll(async () => {
  origin = await startOrigin((request, response) => {
    response.setHeader('etag', ETAG);
    response.setHeader('accept-ranges', 'bytes');
    const condition = request.headers['if-range'];
    const range = condition === undefined || condition === ETAG ? request.headers.range : undefined;
    const parts = range === undefined ? undefined : rangesOf(range);
    if (parts === undefined) return void response.end(Buffer.from(CONTENT, 'latin1'));
    if (parts.length === 0) {
      response.writeHead(416, { 'content-range': `bytes */${CONTENT.length}`, 'content-length': 0 });
      return void response.end();
    }
    const [first = [0, 0] as const] = parts;
    if (parts.length === 1) {
      const length = first[1] - first[0] + 1;
      response.writeHead(206, { 'content-range': contentRange(first), 'content-length': length });
      return void response.end(Buffer.from(CONTENT.slice(first[0], first[1] + 1), 'latin1'));
    }
    response.writeHead(206, { 'content-type': `multipart/byteranges; boundary=${BOUNDARY}` });
    response.end(Buffer.from(multipart(parts), 'latin1'));
  });
  proxy = await startProxy(oneRoute({ backendPort: origin.port }));
});
afterAll(async () => {
  await proxy.close();
  await origin.close();
});

type Part = readonly [first: number, last: number];

function rangesOf(range: string): Part[] {
  const parts: Part[] = [];
  for (const [, first, last] of range.matchAll(/(?:^bytes=|,)\s*(\d*)-(\d*)/g)) {
    const from = first === '' ? CONTENT.length - Number(last) : Number(first);
    const to = first === '' || last === '' ? CONTENT.length - 1 : Math.min(Number(last), CONTENT.length - 1);
    if (from < CONTENT.length) parts.push([from, to]);
  }
  return parts;
}

function contentRange([first, last]: Part): string {
  return `bytes ${first}-${last}/${CONTENT.length}`;
}

function multipart(parts: readonly Part[]): string {
  const texts = parts.map(
    (part) =>
      `--${BOUNDARY}\r\nContent-Range: ${contentRange(part)}\r\n\r\n${CONTENT.slice(part[0], part[1] + 1)}\r\n`,
  );
  return `${texts.join('')}--${BOUNDARY}--\r\n`;
}

function get(fields: readonly string[], method = 'GET'): Promise<RawResponse> {
  const lines = fields.map((field) => `${field}\r\n`).join('');
  return sendRaw(proxy.port, `${method} /a/v1/file HTTP/1.1\r\nHost: a\r\n${lines}\r\n`, method === 'HEAD');
}

describe('ranges', () => {
  it.each([
    ['at the start', 'bytes=0-99', [0, 99]],
    ['in the middle', 'bytes=500-1499', [500, 1499]],
    ['up to the end', 'bytes=1990-', [1990, 1999]],
    ['of the last bytes', 'bytes=-5', [1995, 1999]],
  ] as const)('%s are passed on as 206', async (_name, range, [first, last]) => {
    const response = await get([`Range: ${range}`]);
    expect(response.status).toBe(206);
    expect(response.headers['content-range']).toBe(contentRange([first, last]));
    expect(response.headers['content-length']).toBe(String(last - first + 1));
    expect(response.body).toBe(CONTENT.slice(first, last + 1));
  });

  it('in several parts come as one multipart body, byte for byte', async () => {
    const response = await get(['Range: bytes=0-9, 700-799, -1']);
    expect(response.status).toBe(206);
    expect(response.headers['content-type']).toBe(`multipart/byteranges; boundary=${BOUNDARY}`);
    expect(response.body).toBe(multipart([[0, 9], [700, 799], [1999, 1999]])); // prettier-ignore
  });

  it('that cannot be satisfied are 416 with the length of the whole', async () => {
    const response = await get(['Range: bytes=5000-6000']);
    expect(response.status).toBe(416);
    expect(response.headers['content-range']).toBe(`bytes */${CONTENT.length}`);
    expect(response.headers['content-type']).toBeUndefined();
  });

  it.each([
    ['the entity tag still holds', ETAG, 206],
    ['the entity tag is an old one', '"old"', 200],
    ['a date is given', 'Thu, 01 Jan 1970 00:00:00 GMT', 200],
  ])('with If-Range are up to the backend: %s', async (_name, condition, status) => {
    const response = await get(['Range: bytes=0-9', `If-Range: ${condition}`]);
    expect(response.status).toBe(status);
    expect(response.body).toBe(status === 206 ? CONTENT.slice(0, 10) : CONTENT);
    expect(response.headers['etag']).toBe(ETAG);
  });

  it('are passed on for HEAD, whose answer has no body', async () => {
    const response = await get(['Range: bytes=0-9'], 'HEAD');
    expect(response.status).toBe(206);
    expect(response.headers['content-length']).toBe('10');
    expect(response.body).toBe('');
  });

  it('put together make the whole', async () => {
    let whole = '';
    for (let first = 0; first < CONTENT.length; first += 300) {
      whole += (await get([`Range: bytes=${first}-${first + 299}`, `If-Range: ${ETAG}`])).body;
    }
    expect(whole).toBe(CONTENT);
  });
});
