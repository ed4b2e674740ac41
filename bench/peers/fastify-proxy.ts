/**
 * A peer: `@fastify/http-proxy`, bare, or (with BENCH_KEY) with `@fastify/rate-limit`, an API key and its scope in a
 * hook, a registered route with a parameter, and CORS for one origin.
 */
import httpProxy from '@fastify/http-proxy';
import rateLimit from '@fastify/rate-limit';
import fastify from 'fastify';
import { LIMIT_REQUESTS, LIMIT_WINDOW_SECS, ORIGIN, PREFIX, SCOPE } from '../service.ts';

const port = Number(process.env['BENCH_PORT']);
const upstream = `http://127.0.0.1:${process.env['BENCH_ORIGIN_PORT']}`;
const key = process.env['BENCH_KEY'];
const undici = { connections: 1024 };

const app = fastify({ keepAliveTimeout: 75_000, bodyLimit: Number.MAX_SAFE_INTEGER });
if (key === undefined) await app.register(httpProxy, { upstream, undici });
else {
  const scopes = new Map([[`Bearer ${key}`, new Set([SCOPE])]]);
  await app.register(rateLimit, {
    max: LIMIT_REQUESTS,
    timeWindow: LIMIT_WINDOW_SECS * 1000,
    keyGenerator: () => 'shop',
  });
  app.addHook('onSend', async (request, reply) => {
    if (request.headers.origin === ORIGIN) reply.header('access-control-allow-origin', ORIGIN);
    reply.header('vary', 'Origin');
  });
  await app.register(httpProxy, {
    upstream,
    undici,
    prefix: `${PREFIX}/orders/:id`,
    rewritePrefix: '/orders/:id',
    httpMethods: ['GET'],
    preHandler: (request, reply, next) => {
      const granted = scopes.get(request.headers.authorization ?? '');
      if (granted === undefined) return void reply.code(401).send();
      if (!granted.has(SCOPE)) return void reply.code(403).send();
      delete request.headers.authorization;
      next();
    },
  });
}
await app.listen({ port, host: '127.0.0.1' });
