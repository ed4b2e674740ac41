/**
 * `X-Headgate-Decision` on real responses, for requests with a valid `X-Headgate-Debug: <debug token>`. The main thread
 * creates and revokes the tokens; workers get only their SHA-256. An invalid token changes nothing, not even the time
 * of the comparison. The request field is dropped before forwarding, like all `X-Headgate-` fields.
 */
import { timingSafeEqual } from 'node:crypto';
import { tokenHash } from '../model/token.ts';
import { fieldText } from '../policy/caller.ts';
import type { ExchangeView } from '../proxy/interfaces/exchange-view.ts';
import { upstreamUrlOf } from './facts.ts';
import type { DebugTokenEntry } from './messages.ts';

const TOKEN_CHARS_MAX = 128;
const VALUE_CHARS_MAX = 200;

export class DebugTokens {
  #entries: readonly { readonly entry: DebugTokenEntry; readonly hash: Buffer }[] = [];

  set(entries: readonly DebugTokenEntry[]): void {
    this.#entries = entries.map((entry) => ({ entry, hash: Buffer.from(entry.hash, 'hex') }));
  }

  /** The line of the decision, or '' when the request has no valid token. */
  line(exchange: ExchangeView): string {
    if (this.#entries.length === 0 || !this.#isAllowed(exchange)) return '';
    return `X-Headgate-Decision: ${decisionText(exchange)}\r\n`;
  }

  #isAllowed(exchange: ExchangeView): boolean {
    // A head that was refused cannot be read.
    const token = exchange.method === '' ? undefined : exchange.header('x-headgate-debug');
    if (token === undefined || token.length > TOKEN_CHARS_MAX) return false;
    const presented = Buffer.from(tokenHash(token), 'hex');
    let allowed = false;
    for (const { entry, hash } of this.#entries) {
      const isEqual = timingSafeEqual(presented, hash);
      const isInForce = exchange.startedAtMs < entry.untilMs;
      const isForApp = entry.appId === undefined || entry.appId === exchange.version?.app.id;
      if (isEqual && isInForce && isForApp) allowed = true;
    }
    return allowed;
  }
}

/** `name=value` pairs in the order in which the gateway decides; stages that were not reached are left out. */
function decisionText(exchange: ExchangeView): string {
  const { version, route, evaluation, errorCode } = exchange;
  const pairs: [name: string, value: string][] = [];
  if (version !== undefined) pairs.push(['app', version.app.slug], ['version', version.label]);
  if (route !== undefined) {
    pairs.push(['revision', route.revision.label]);
    pairs.push(['endpoint', route.endpointId === undefined ? 'none' : `${route.method} ${route.template}`]);
    pairs.push(['caller', callerText(exchange)]);
  }
  if (evaluation.limit !== undefined) {
    pairs.push(['limit', `${evaluation.limit.remaining} of ${evaluation.limit.limit} left`]);
  }
  if (evaluation.shadowDenials !== undefined) {
    pairs.push(['would_deny', evaluation.shadowDenials.map(({ part }) => part).join(' ')]);
  }
  if (errorCode !== undefined) pairs.push(['denied', deniedText(exchange)]);
  else if (exchange.preflight) pairs.push(['preflight', 'answered']);
  else if (exchange.answeredBy !== undefined) pairs.push([exchange.answeredBy, 'answered']);
  if (exchange.attempts !== undefined && route !== undefined)
    pairs.push(['upstream', upstreamUrlOf(exchange, route)]);
  return pairs.map(([name, value]) => `${name}=${fieldText(value.slice(0, VALUE_CHARS_MAX))}`).join('; ');
}

function callerText({ evaluation: { caller } }: ExchangeView): string {
  return caller.id === '' ? caller.kind : `${caller.kind} ${caller.id}`;
}

function deniedText({ errorCode, evaluation }: ExchangeView): string {
  const by = evaluation.deniedBy;
  return by === undefined ? String(errorCode) : `${errorCode} by ${by}`;
}
