/**
 * Encoded parts of spans that many exchanges share: attributes of route, method, status and protocol; of the target;
 * of the host and the configuration. Owns them; their number is bounded where clients control the number of values.
 */
import { ownText } from '../../http/latin1.ts';
import { cut } from '../../observe/cut.ts';
import type { Caller } from '../../policy/stage.ts';
import type { Route } from '../../proxy/interfaces/route.ts';
import type { TracedAttempt } from '../../proxy/tracing/exchange-trace.ts';
import { writeAttribute, type AttributeValue } from '../otlp/attributes.ts';
import { ProtobufWriter } from '../otlp/protobuf-writer.ts';
import type { KeptExchange } from './kept-exchange.ts';

export const SPAN = {
  traceId: 1,
  spanId: 2,
  parentId: 4,
  name: 5,
  kind: 6,
  start: 7,
  end: 8,
  attributes: 9,
  events: 11,
  status: 15,
} as const;
export const EVENT = { time: 1, name: 2, attributes: 3 } as const;
const STATUS_CODE = 3;
const STATUS_ERROR = 2;
const KIND = { server: 2, client: 3 } as const;

export const TEXT_CHARS_MAX = 256;
/** Limit of the parts of each kind; beyond it, all are dropped. */
const KEPT_MAX = 512;
/** Methods that may be names of spans (semantic conventions, "HTTP request method"); all others are `_OTHER`. */
const METHODS = new Map(
  ['_OTHER', 'GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE', 'QUERY'].map(
    (name, index) => [name, index] as const,
  ),
);
const STATUSES = 1_000;
const METHOD_COUNT = 16;

interface ClientBlock {
  readonly bytes: Uint8Array;
  /** Scheme and authority of `url.full`. */
  readonly origin: string;
}

type Attributes = Readonly<Record<string, AttributeValue | undefined>>;

export class SpanBlocks {
  readonly #writer = new ProtobufWriter();
  readonly #routes = new WeakMap<Route, Map<number | string, Uint8Array>>();
  readonly #unrouted = new Map<number | string, Uint8Array>();
  /** Parts by target. */
  readonly #clients = new Map<string, Map<number | string, ClientBlock>>();
  readonly #limits = new Map<number, Uint8Array>();
  readonly #hosts = new Map<string, Uint8Array>();
  /** By caller: an object that lives as long as the key or token is cached. */
  readonly #callers = new WeakMap<Caller, Uint8Array>();
  #configVersion = -1;
  /** Nearly always equal to the value of the previous exchange: a comparison is faster than a look-up. */
  #lastAuthority = '';
  #lastPlace: Uint8Array | undefined;

  /** The shared part of a server span: its name, kind, status, and the attributes of route and outcome. */
  server(exchange: KeptExchange): Uint8Array {
    const { route, status, protocol, isSecure, errorCode, isAborted } = exchange;
    const method = spanMethod(exchange);
    // Nearly all exchanges: a number is found faster than a text.
    const isPlain = errorCode === undefined && !isAborted;
    const key = isPlain
      ? ((METHODS.get(method) ?? 0) * STATUSES + status) * 8 + protocolNumber(protocol) * 2 + Number(isSecure)
      : `${method} ${status} ${protocol} ${isSecure} ${errorCode} ${isAborted}`;
    const kept = route === undefined ? this.#unrouted : this.#ofRoute(route);
    return kept.get(key) ?? keep(kept, key, this.#makeServer(exchange, method));
  }

  /** Attributes of the configuration and of the requested host. @param authority of the request, or '' */
  place(configVersion: number, authority: string): Uint8Array {
    if (configVersion !== this.#configVersion) {
      this.#hosts.clear();
      this.#configVersion = configVersion;
    } else if (authority === this.#lastAuthority && this.#lastPlace !== undefined) return this.#lastPlace;
    this.#lastAuthority = authority;
    return (this.#lastPlace = this.#hosts.get(authority) ?? this.#makePlace(configVersion, authority));
  }

  #makePlace(configVersion: number, authority: string): Uint8Array {
    const [host, port] = hostAndPort(authority);
    const made = this.#make(() =>
      this.#attributes({
        'headgate.config_version': configVersion,
        'server.address': host === '' ? undefined : cut(host, TEXT_CHARS_MAX),
        'server.port': port,
      }),
    );
    // A copy: the authority is a slice of a whole request head, which would stay in memory.
    return authority.length > TEXT_CHARS_MAX ? made : keep(this.#hosts, ownText(authority), made);
  }

  /** Attributes of a known caller. */
  caller(caller: Caller): Uint8Array {
    let bytes = this.#callers.get(caller);
    if (bytes === undefined) {
      const attributes = {
        'headgate.caller.kind': caller.kind,
        'headgate.caller.id': cut(caller.id, TEXT_CHARS_MAX),
      };
      this.#callers.set(caller, (bytes = this.#make(() => this.#attributes(attributes))));
    }
    return bytes;
  }

  /** The event of a rate limit, without its time and the remaining quota. */
  rateLimit(limit: number, admitted: boolean): Uint8Array {
    const key = admitted ? limit : -1 - limit;
    return (
      this.#limits.get(key) ??
      keep(
        this.#limits,
        key,
        this.#make(() => {
          this.#writer.string(EVENT.name, 'headgate.rate_limit');
          writeAttribute(this.#writer, EVENT.attributes, 'headgate.limit', limit);
          writeAttribute(this.#writer, EVENT.attributes, 'headgate.limit.admitted', admitted);
        }),
      )
    );
  }

  /**
   * The shared part of an attempt's span: name, kind, status, and all attributes except `url.full` and the number
   * of the attempt.
   */
  client(exchange: KeptExchange, attempt: TracedAttempt): ClientBlock {
    const { target, route, status, failure, failedMs } = attempt;
    const { scheme } = route.revision.backend;
    const method = spanMethod(exchange);
    const isLast = failedMs === undefined;
    const protocol = !isLast ? 0 : exchange.upstreamProtocol === 'HTTP/2' ? 2 : 1;
    const number = ((METHODS.get(method) ?? 0) + (scheme === 'https' ? METHOD_COUNT : 0)) * STATUSES + status;
    const key = failure === '' ? number * 4 + protocol : `${number} ${protocol} ${failure}`;
    let kept = this.#clients.get(target);
    if (kept === undefined) kept = keep(this.#clients, target, new Map<number | string, ClientBlock>());
    return kept.get(key) ?? keep(kept, key, this.#makeClient(method, attempt, protocol));
  }

  #ofRoute(route: Route): Map<number | string, Uint8Array> {
    let kept = this.#routes.get(route);
    if (kept === undefined) this.#routes.set(route, (kept = new Map()));
    return kept;
  }

  #makeServer(exchange: KeptExchange, method: string): Uint8Array {
    const { route, status, protocol, isSecure, errorCode, isAborted } = exchange;
    const { template, version, revision } = route ?? {};
    return this.#make(() => {
      this.#writer.string(SPAN.name, template === undefined ? method : `${method} ${template}`);
      this.#writer.varint(SPAN.kind, KIND.server);
      this.#attributes({
        'http.route': template,
        'headgate.app': version?.app.slug,
        'headgate.version': version?.label,
        'headgate.revision': revision?.label,
        'headgate.revision_id': revision?.id,
        'http.request.method': method,
        'http.response.status_code': status === 0 ? undefined : status,
        'network.protocol.name': 'http',
        'network.protocol.version': protocol.slice(protocol.indexOf('/') + 1),
        'url.scheme': isSecure ? 'https' : 'http',
        'error.type': status >= 500 ? (errorCode ?? String(status)) : undefined,
        'headgate.error_code': errorCode,
        'headgate.aborted': isAborted || undefined,
      });
      if (status >= 500) this.#error();
    });
  }

  #makeClient(method: string, attempt: TracedAttempt, protocol: number): ClientBlock {
    const { target, status, failure, route } = attempt;
    const [host, port] = hostAndPort(target);
    const error = failure !== '' ? failure : status >= 400 ? String(status) : undefined;
    const bytes = this.#make(() => {
      this.#writer.string(SPAN.name, method);
      this.#writer.varint(SPAN.kind, KIND.client);
      this.#attributes({
        'http.request.method': method,
        'server.address': host,
        'server.port': port,
        'http.response.status_code': status === 0 ? undefined : status,
        'network.protocol.version': protocol === 0 ? undefined : protocol === 2 ? '2' : '1.1',
        'error.type': error,
      });
      if (error !== undefined) this.#error();
    });
    return { bytes, origin: `${route.revision.backend.scheme}://${target}` };
  }

  #make(write: () => void): Uint8Array {
    this.#writer.clear();
    write();
    return this.#writer.bytes.slice();
  }

  #attributes(attributes: Attributes): void {
    for (const [key, value] of Object.entries(attributes))
      if (value !== undefined) writeAttribute(this.#writer, SPAN.attributes, key, value);
  }

  #error(): void {
    const start = this.#writer.begin(SPAN.status);
    this.#writer.varint(STATUS_CODE, STATUS_ERROR);
    this.#writer.end(start);
  }
}

export function isKnownMethod(method: string): boolean {
  return METHODS.has(method) && method !== '_OTHER';
}

function keep<K, V>(kept: Map<K, V>, key: K, value: V): V {
  if (kept.size >= KEPT_MAX) kept.clear();
  kept.set(key, value);
  return value;
}

function spanMethod({ method }: KeptExchange): string {
  return METHODS.has(method) ? method : '_OTHER';
}

function protocolNumber(protocol: string): number {
  return protocol === 'HTTP/1.1' ? 0 : protocol === 'HTTP/1.0' ? 1 : 2;
}

/** @param authority `host`, `host:port` or `[address]:port`; '' gives '' */
function hostAndPort(authority: string): readonly [host: string, port: number | undefined] {
  const colon = authority.lastIndexOf(':');
  if (colon < 0 || authority.endsWith(']')) return [authority, undefined];
  const port = Number(authority.slice(colon + 1));
  return Number.isInteger(port) ? [authority.slice(0, colon), port] : [authority, undefined];
}
