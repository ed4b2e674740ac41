/** `rate-limiting`, `rate-limiting-advanced` and `request-size-limiting`. */
import type { Item } from '../../imported-route.ts';
import type { SourceNode } from '../../source.ts';
import type { KongPlugin } from '../kong-document.ts';
import { NOTHING, type PluginContext, type TranslatedPlugin } from './plugin.ts';
import { counted } from '../../../../lib/text/counted.ts';

/** Lengths of Kong's windows in seconds. */
const WINDOWS: Readonly<Record<string, number>> = {
  second: 1,
  minute: 60,
  hour: 3_600,
  day: 86_400,
  month: 2_592_000,
  year: 31_536_000,
};
const WINDOW_SECONDS_MAX = 31_622_400;
const REQUESTS_MAX = 1_000_000_000;

interface Window {
  readonly requests: number;
  readonly seconds: number;
  readonly report: (reason: string) => void;
}

const STORE_REASON = 'where limits are counted is a setting here';
const STORE_FIELDS = [
  'policy',
  'sync_rate',
  'redis',
  'redis_host',
  'redis_port',
  'redis_password',
  'redis_username',
  'redis_database',
  'redis_ssl',
  'redis_ssl_verify',
  'redis_server_name',
  'redis_timeout',
  'strategy',
  'dictionary_name',
  'namespace',
];

export function rateLimiting({ config, node }: KongPlugin, context: PluginContext): TranslatedPlugin {
  if (config === undefined) return NOTHING;
  const windows = Object.entries(WINDOWS).flatMap(([name, seconds]): Window[] => {
    const requests = config.number(name);
    if (requests === undefined) return [];
    if (seconds > 86_400) config.changed(`is ${counted(seconds / 86_400, 'day')}`, undefined, name);
    return [{ requests, seconds, report: (reason) => config.lost(reason, undefined, name) }];
  });
  return limitOf(windows, config, node, 'fixed_window', context);
}

export function rateLimitingAdvanced({ config, node }: KongPlugin, context: PluginContext): TranslatedPlugin {
  if (config === undefined) return NOTHING;
  const read = (name: string): { readonly value: number; readonly node: SourceNode }[] =>
    config.has(name) ? numbersOf(config, name) : [];
  const sizes = read('window_size');
  const windows = read('limit').flatMap(({ value, node: item }, index): Window[] => {
    const seconds = sizes[index]?.value;
    if (seconds === undefined) {
      item.lost('has no window');
      return [];
    }
    return [{ requests: value, seconds, report: (reason) => item.lost(reason) }];
  });
  const kind = config.text('window_type') ?? 'sliding';
  const algorithm = kind === 'fixed' ? 'fixed_window' : 'sliding_window';
  return limitOf(windows, config, node, algorithm, context);
}

function numbersOf(config: SourceNode, name: string): { value: number; node: SourceNode }[] {
  return (config.texts(name) ?? []).flatMap(({ text, node }) => {
    const value = Number(text);
    if (!Number.isFinite(value)) node.lost('is not a number');
    return Number.isFinite(value) ? [{ value, node }] : [];
  });
}

function limitOf(
  windows: readonly Window[],
  config: SourceNode,
  node: SourceNode,
  algorithm: string,
  context: PluginContext,
): TranslatedPlugin {
  const usable = windows.filter(({ requests, seconds, report }) => {
    const fits =
      Number.isInteger(requests) &&
      requests >= 1 &&
      requests <= REQUESTS_MAX &&
      Number.isInteger(seconds) &&
      seconds >= 1 &&
      seconds <= WINDOW_SECONDS_MAX;
    if (!fits) report('is not a number of requests and seconds that a limit can have here');
    return fits;
  });
  const per = perOf(config, context);
  settleDetails(config);
  // In the long run, the limit with the fewest requests per second applies.
  const [kept, ...others] = [...usable].sort((a, b) => a.requests / a.seconds - b.requests / b.seconds);
  if (kept === undefined) {
    node.lost('has no limit that can be kept');
    return { ...NOTHING, isWeaker: true };
  }
  for (const { report } of others)
    report(
      `is one of several windows, and a policy has only one: ${kept.requests} in ${kept.seconds} s was kept, which is the strictest in the long run`,
    );
  return {
    parts: {
      rate_limit: {
        enabled: true,
        requests: kept.requests,
        window_seconds: kept.seconds,
        ...(algorithm !== 'fixed_window' && { algorithm }),
        ...(per !== 'scope' && { per }),
      },
    },
  };
}

/** Which requests are counted together. */
function perOf(config: SourceNode, { authType }: PluginContext): string {
  const name = config.has('limit_by') ? 'limit_by' : 'identifier';
  const by = config.text(name) ?? 'consumer';
  const header = config.text('header_name');
  const path = config.text('path');
  if (path !== undefined && path !== '' && by === 'path')
    config.lost('limits one path, and the limit is on all of them', 'an endpoint with a limit', 'path');
  else config.noEffect('has no effect with this limit_by', 'path');
  if (by === 'header' && header !== undefined) return `header:${header}`;
  if (header !== undefined) config.noEffect('has no effect with this limit_by', 'header_name');
  switch (by) {
    case 'consumer':
    case 'credential':
      if (authType === 'jwt') {
        if (config.has(name)) config.changed('is the subject of the token', undefined, name);
        return 'claim:sub';
      }
      return authType === 'api_key' ? 'api_key' : 'ip';
    case 'ip':
      return 'ip';
    case 'service':
      return 'scope';
    default:
      config.changed('is everything under the limit together', undefined, name);
      return 'scope';
  }
}

function settleDetails(config: SourceNode): void {
  const policy = config.text('policy');
  if (policy !== undefined && policy !== 'local')
    config.changed('is GATEWAY_REDIS_URL here, for all limits', undefined, 'policy');
  config.noEffect(STORE_REASON, ...STORE_FIELDS);
  if (config.boolean('fault_tolerant') === false)
    config.lost('is the setting of a limit here', '`on_store_failure: deny`', 'fault_tolerant');
  if (config.boolean('hide_client_headers') === true)
    config.lost('answers always say how much is left', undefined, 'hide_client_headers');
  const code = config.number('error_code');
  if (code !== undefined && code !== 429) config.changed('is 429 here', undefined, 'error_code');
  if (config.text('error_message') !== undefined)
    config.lost('answers of the gateway are problem documents', undefined, 'error_message');
}

const UNITS: Readonly<Record<string, number>> = { bytes: 1, kilobytes: 1024, megabytes: 1024 * 1024 };

export function requestSizeLimiting({ config }: KongPlugin): TranslatedPlugin {
  const size = config?.number('allowed_payload_size') ?? 128;
  const unit = config?.text('size_unit') ?? 'megabytes';
  const bytes = Math.floor(size * (UNITS[unit] ?? 0));
  if (config?.boolean('require_content_length') === true)
    config.lost('bodies of unknown length are counted as they come', undefined, 'require_content_length');
  if (bytes >= 1 && Number.isSafeInteger(bytes)) return { parts: { max_body_bytes: bytes } };
  config?.lost(
    `is not a size that a body can have here (${size} ${unit})`,
    undefined,
    'allowed_payload_size',
  );
  return NOTHING;
}

/** The limit of a consumer, as a limit of its keys. */
export function keyLimit(plugin: KongPlugin, context: PluginContext): Item | undefined {
  const { parts } = rateLimiting(plugin, context);
  const limit = parts['rate_limit'] as Item | undefined;
  if (limit === undefined) return undefined;
  const { per: _per, ...rest } = limit;
  return { ...rest, per: 'api_key' };
}
