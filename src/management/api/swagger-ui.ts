/**
 * Swagger UI at /swagger-ui/ (contract part 1), served from the package's own files. It has our own content security
 * policy: the package's default upgrades requests to HTTPS, which leaves the page empty when the management API is
 * reached over plain HTTP on an address other than loopback, and lets the page load styles, fonts and a validation
 * badge from elsewhere. An entered admin token stays in the page's memory.
 */
import type { FastifyInstance } from 'fastify';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { JsonObject } from './openapi.ts';

/** Swagger UI uses inline styles; its scripts are only in files. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "img-src 'self' data:",
  "object-src 'none'",
  "style-src 'self' 'unsafe-inline'",
].join('; ');

const TITLE = 'Headgate management API';
/**
 * The bar shows another project's logo, and a field for documents of other hosts, which the policy above
 * blocks.
 */
const NO_TOP_BAR = '.swagger-ui .topbar { display: none }';

export async function addSwaggerUi(server: FastifyInstance, document: JsonObject): Promise<void> {
  await server.register(swagger, {
    mode: 'static',
    specification: { document: document as never },
  });
  await server.register(swaggerUi, {
    routePrefix: '/swagger-ui',
    staticCSP: CONTENT_SECURITY_POLICY,
    uiConfig: { displayRequestDuration: true },
    theme: { title: TITLE, css: [{ filename: 'headgate.css', content: NO_TOP_BAR }] },
  });
}
