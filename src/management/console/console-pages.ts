/**
 * Serves the console at `/` of the management port. One document draws all pages, so every address that is neither a
 * file nor a part of the API gives that document to a browser that asks for a page, and stays a 404 for everything
 * else.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isAccepted } from '../../http/fields/accepted.ts';
import { isNotModified } from '../api/entity-tag.ts';
import { INDEX_PATH, type ConsoleFile, type ConsoleFiles, type ContentCoding } from './console-files.ts';

/** Allows no inline scripts or styles, no other hosts, and no frames. */
const SECURITY_POLICY = [
  "default-src 'none'",
  "base-uri 'none'",
  "connect-src 'self'",
  "font-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "img-src 'self'",
  "script-src 'self'",
  "style-src 'self'",
].join('; ');

const SECURITY_HEADERS = {
  'Content-Security-Policy': SECURITY_POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

const IMMUTABLE = 'public, max-age=31536000, immutable';
/** The preferred ones first. */
const CODINGS: readonly ContentCoding[] = ['br', 'gzip'];
/** Never pages: addresses below these answer with JSON or pages of their own, even with a 404. */
const OTHER_PATHS = /^\/(?:api|healthz|readyz|metrics|swagger-ui)(?:\/|$)/;

const answered = new WeakSet<FastifyRequest>();

/** Requests for pages and files are frequent and change nothing, so they are not logged. */
export function isConsoleRequest(request: FastifyRequest): boolean {
  return answered.has(request);
}

/** @returns undefined when the console has nothing there */
export function sendConsole(
  files: ConsoleFiles,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | undefined {
  if (request.method !== 'GET' && request.method !== 'HEAD') return undefined;
  const path = request.url.split('?', 1)[0] ?? '/';
  const file = fileAt(files, path, request.headers.accept);
  return file === undefined ? undefined : send(file, request, reply);
}

function fileAt(files: ConsoleFiles, path: string, accept: string | undefined): ConsoleFile | undefined {
  if (path === '/') return files.get(INDEX_PATH);
  if (OTHER_PATHS.test(path)) return undefined;
  const isPage = !path.startsWith('/assets/') && accept?.includes('text/html') === true;
  return files.get(path) ?? (isPage ? files.get(INDEX_PATH) : undefined);
}

function send(file: ConsoleFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  answered.add(request);
  reply.headers({
    ...SECURITY_HEADERS,
    'Cache-Control': file.isImmutable ? IMMUTABLE : 'no-cache',
    ETag: file.entityTag,
    Vary: 'Accept-Encoding',
  });
  if (isNotModified(request.headers['if-none-match'], file.entityTag)) return reply.code(304).send();
  const accepted = request.headers['accept-encoding'];
  // A coding that is not listed is not used.
  const coding = CODINGS.find((one) => file.bytes[one] !== undefined && isAccepted(accepted, one));
  const bytes = file.bytes[coding ?? 'identity'] ?? file.bytes.identity;
  if (coding !== undefined) reply.header('Content-Encoding', coding);
  reply.code(200).type(file.type).header('Content-Length', bytes.byteLength);
  return reply.send(request.method === 'HEAD' ? undefined : bytes);
}
