/** The supported plugins of Kong, and what is reported about the others. */
import type { SourceNode } from '../../source.ts';
import type { KongPlugin } from '../kong-document.ts';
import { cors, ipRestriction } from './origin-plugins.ts';
import { acl, jwt, keyAuth } from './auth.ts';
import { rateLimiting, rateLimitingAdvanced, requestSizeLimiting } from './limits.ts';
import { mtlsAuth } from './mtls-auth.ts';
import { NOTHING, type PluginContext, type PluginTranslator, type TranslatedPlugin } from './plugin.ts';
import { correlationId, transformer } from './transformers.ts';

const TRANSLATORS: Readonly<Record<string, PluginTranslator>> = {
  'key-auth': keyAuth,
  'key-auth-enc': keyAuth,
  jwt,
  'mtls-auth': mtlsAuth,
  acl,
  'rate-limiting': rateLimiting,
  'rate-limiting-advanced': rateLimitingAdvanced,
  'request-size-limiting': requestSizeLimiting,
  'ip-restriction': ipRestriction,
  cors,
  'request-transformer': transformer('request'),
  'request-transformer-advanced': transformer('request'),
  'response-transformer': transformer('response'),
  'response-transformer-advanced': transformer('response'),
  'correlation-id': correlationId,
};

/** Without these plugins a route does no more than with them; without any other plugin it is not activated. */
const HARMLESS_TRANSLATORS = [
  'cors',
  'request-transformer',
  'request-transformer-advanced',
  'response-transformer',
  'response-transformer-advanced',
  'correlation-id',
];

/** The closest features for plugins that keep requests out. */
const PROTECTING: Readonly<Record<string, string>> = {
  'basic-auth': '`auth` with API keys',
  'hmac-auth': '`auth` with API keys',
  'ldap-auth': '`auth` with JWTs of an identity provider',
  'ldap-auth-advanced': '`auth` with JWTs of an identity provider',
  oauth2: '`auth` with JWTs of an identity provider',
  'oauth2-introspection': '`auth` with JWTs of an identity provider',
  'openid-connect': '`auth` with JWTs of an identity provider',
  'header-cert-auth': '`auth` with `mtls`, where the gateway ends TLS itself',
  'vault-auth': '`auth` with API keys',
  saml: '`auth` with JWTs of an identity provider',
  session: '`auth` with JWTs of an identity provider',
  opa: '`required_scopes`',
  'jwt-signer': '`auth` with JWTs of an identity provider',
  'request-termination': 'endpoints that are switched off',
  'request-validator': 'endpoints in `managed_endpoint` mode',
  'oas-validation': '`headgate import openapi`',
  'bot-detection': '`ip_access`',
  'response-ratelimiting': '`rate_limit`',
  'websocket-size-limit': '`max_body_bytes`',
};

const OBSERVING = 'the metrics, access log and traces of the settings';
/** The closest features for plugins that let every request pass. */
const OPEN: Readonly<Record<string, string | undefined>> = {
  prometheus: 'the metrics at the management listener',
  'file-log': OBSERVING,
  'http-log': OBSERVING,
  'tcp-log': OBSERVING,
  'udp-log': OBSERVING,
  syslog: OBSERVING,
  loggly: OBSERVING,
  datadog: OBSERVING,
  statsd: OBSERVING,
  zipkin: OBSERVING,
  opentelemetry: OBSERVING,
  'proxy-cache': 'a cache before the gateway',
  'proxy-cache-advanced': 'a cache before the gateway',
  'upstream-timeout': '`timeouts`',
  'proxy-cache-redis': 'a cache before the gateway',
  acme: 'GATEWAY_ACME__DIRECTORY',
  'kafka-log': OBSERVING,
  canary: '`traffic_weight` of revisions',
  'grpc-web': '`grpc_web`',
  'grpc-gateway': undefined,
};

/** Plugins for authentication come first: limits and groups depend on how callers authenticate. */
export const AUTH_PLUGINS: readonly string[] = ['key-auth', 'key-auth-enc', 'jwt', 'mtls-auth'];

export function translatePlugin(plugin: KongPlugin, context: PluginContext): TranslatedPlugin {
  const translate = Object.hasOwn(TRANSLATORS, plugin.name) ? TRANSLATORS[plugin.name] : undefined;
  if (translate === undefined) return refusePlugin(plugin.node, plugin.name);
  const translated = translate(plugin, context);
  return !isHarmless(plugin.name) && plugin.node.hasUnread ? { ...translated, isWeaker: true } : translated;
}

/** Whether a route is no wider without the plugin. An unknown plugin may protect. */
export function isHarmless(name: string): boolean {
  return HARMLESS_TRANSLATORS.includes(name) || Object.hasOwn(OPEN, name);
}

function refusePlugin(node: SourceNode, name: string): TranslatedPlugin {
  const protecting = Object.hasOwn(PROTECTING, name) ? PROTECTING[name] : undefined;
  const nearest = protecting ?? (Object.hasOwn(OPEN, name) ? OPEN[name] : undefined);
  node.lost(`is the plugin ${name}, which has no counterpart`, nearest);
  return isHarmless(name) ? NOTHING : { ...NOTHING, isWeaker: true };
}
