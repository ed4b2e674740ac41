/**
 * A small website as a backend: a page with a style sheet, a script, an image, a font and fifty small files, all
 * with validators, some compressed; a stream of events; an echo with a cookie; a path that is never answered; and
 * an empty page to run scripts in. Nothing in it is made for the gateway.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { crc32, deflateSync, gzipSync } from 'node:zlib';

export const SMALL_FILES = 50;
const COMPRESSED_TYPES = /^text\/|json|javascript/;

interface Asset {
  readonly type: string;
  readonly content: Buffer;
  readonly etag: string;
}

export interface Website {
  readonly port: number;
  /** `METHOD path status` of everything that was answered. */
  readonly answered: string[];
  close(): Promise<void>;
}

/** @param fontFile a TrueType font */
export async function startWebsite(fontFile: string): Promise<Website> {
  const assets = makeAssets(fontFile);
  const answered: string[] = [];
  const listeners = new Set<http.ServerResponse>();
  const server = http.createServer((request, response) => {
    const path = (request.url ?? '').replace(/\?.*/, '');
    response.on('close', () => answered.push(`${request.method} ${path} ${response.statusCode}`));
    const asset = assets.get(path);
    if (path === '/silent') return;
    if (path === '/echo') echo(request, response);
    else if (path === '/events') sendFirstEvent(response, listeners);
    else if (path === '/events/next') sendNextEvent(response, listeners);
    else if (asset === undefined) response.writeHead(404).end();
    else sendAsset(request, response, asset);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    answered,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}

function makeAssets(fontFile: string): Map<string, Asset> {
  const assets = new Map<string, Asset>();
  const add = (path: string, type: string, content: string | Buffer): void => {
    const bytes = Buffer.from(content as string);
    const etag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}"`;
    assets.set(path, { type, content: bytes, etag });
  };
  add('/', 'text/html; charset=utf-8', PAGE);
  add('/empty', 'text/html; charset=utf-8', '<!doctype html><title>empty</title>');
  add('/style.css', 'text/css', STYLE);
  add('/script.js', 'text/javascript', SCRIPT);
  add('/image.png', 'image/png', solidPng(48, 32));
  add('/font.ttf', 'font/ttf', readFileSync(fontFile));
  for (let index = 0; index < SMALL_FILES; index++) {
    add(`/files/${index}.json`, 'application/json', JSON.stringify({ index, text: `file ${index}` }));
  }
  return assets;
}

function sendAsset(request: http.IncomingMessage, response: http.ServerResponse, asset: Asset): void {
  response.setHeader('etag', asset.etag);
  response.setHeader('cache-control', 'no-cache');
  response.setHeader('vary', 'Accept-Encoding');
  if (request.headers['if-none-match'] === asset.etag) return void response.writeHead(304).end();
  response.setHeader('content-type', asset.type);
  const compress =
    COMPRESSED_TYPES.test(asset.type) && String(request.headers['accept-encoding']).includes('gzip');
  if (compress) response.setHeader('content-encoding', 'gzip');
  response.end(compress ? gzipSync(asset.content) : asset.content);
}

/** Tells what came in, sets a cookie, and claims CORS headers of its own, which are the gateway's business. */
function echo(request: http.IncomingMessage, response: http.ServerResponse): void {
  let bytes = 0;
  request.on('data', (chunk: Buffer) => (bytes += chunk.length));
  request.on('end', () => {
    response.setHeader('content-type', 'application/json');
    response.setHeader('set-cookie', 'visit=1; Path=/; HttpOnly');
    response.setHeader('access-control-allow-origin', 'https://other.example');
    response.setHeader('x-build', '42');
    response.setHeader('x-internal', 'not exposed');
    response.end(JSON.stringify({ method: request.method, headers: request.headers, bytes }));
  });
}

function sendFirstEvent(response: http.ServerResponse, listeners: Set<http.ServerResponse>): void {
  listeners.add(response);
  response.on('close', () => listeners.delete(response));
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write('data: first\n\n');
}

/** Asked for by a client that has read the first one: so it is known that events are not held back. */
function sendNextEvent(response: http.ServerResponse, listeners: Set<http.ServerResponse>): void {
  for (const listener of listeners) listener.end('data: second\n\n');
  response.writeHead(204).end();
}

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <title>Through the gateway</title>
    <link rel="icon" href="image.png" />
    <link rel="stylesheet" href="style.css" />
    <script src="script.js" type="module"></script>
  </head>
  <body>
    <h1>Through the gateway</h1>
    <img id="image" src="image.png" alt="" />
    <p id="files">loading</p>
  </body>
</html>
`;

const STYLE = `@font-face { font-family: 'Served'; src: url('font.ttf') format('truetype'); }
h1 { font-family: 'Served'; color: rgb(1, 2, 3); }
`;

const SCRIPT = `const load = async (index) => (await (await fetch('files/' + index + '.json')).json()).index;
const indexes = await Promise.all(Array.from({ length: ${SMALL_FILES} }, (_, index) => load(index)));
document.querySelector('#files').textContent = indexes.join(' ');
`;

/** A PNG image of one colour (ISO/IEC 15948). */
function solidPng(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const row = Buffer.alloc(1 + width * 3, 0x60);
  row[0] = 0;
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    pngChunk('IHDR', header),
    pngChunk('IDAT', pixels),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}
