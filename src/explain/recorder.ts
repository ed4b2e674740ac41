/**
 * The recent exchanges of a worker that were denied, failed or sampled, so that they can be explained afterwards:
 * compact facts without bodies (recent-exchanges.ts). It keeps the names of query parameters and fields, and values
 * only of fields that contain no credentials (redact.ts). Texts are truncated and copied so that they keep no request
 * alive.
 *
 * For an exchange that is not recorded it costs one check of the error code and one of `isSampling`. At most
 * `RECORDS_PER_SECOND_MAX` exchanges are recorded per second, however many are refused.
 */
import { REDACTED, type Explanation, type HeaderField } from './schema.ts';
import type { Reason } from '../model/reason.ts';
import type { ExchangeView } from '../proxy/interfaces/exchange-view.ts';
import { explanationOf } from './answer.ts';
import { factsOf, type ExchangeFacts } from './facts.ts';
import { KeptExchanges } from './live/kept-exchanges.ts';
import type { ExchangeName, Sampling } from './messages.ts';
import { recordedField, recordedQuery, withoutCredentials } from './redact.ts';
import { RecentExchanges } from './recent-exchanges.ts';
import type { FixLookups } from './fix.ts';
import type { ExplainSettings } from '../policy/part-explain.ts';
import { recordOf, readRecord, type FindKeyId } from './traffic/traffic-record.ts';

export const RECORDS_MAX = 1_000;
export const RECORDS_PER_SECOND_MAX = 500;
const HEADERS_MAX = 40;
const VALUE_CHARS_MAX = 256;
const PATH_CHARS_MAX = 2_048;

interface Recorded {
  readonly requestId: string;
  /** undefined while traces are not exported. */
  readonly traceId: string | undefined;
  readonly facts: ExchangeFacts;
  readonly request: string | undefined;
}

export class ExchangeRecorder {
  readonly #recent = new RecentExchanges<Recorded>(RECORDS_MAX, RECORDS_PER_SECOND_MAX);
  readonly #live = new KeptExchanges<Recorded>();
  readonly #findKeyId: FindKeyId;
  #sampling: Sampling | undefined;
  /** How far recording is behind the sampling rate, in exchanges. */
  #credit = 0;

  /** @param findKeyId whose credential a record has */
  constructor(findKeyId: FindKeyId = () => undefined) {
    this.#findKeyId = findKeyId;
  }

  get isSampling(): boolean {
    return this.#sampling !== undefined;
  }

  sample(sampling: Sampling | undefined): void {
    this.#sampling = sampling;
    // Records the first exchange at once.
    this.#credit = 1;
  }

  /** Called for every exchange with an error code, and for every exchange while `isSampling`. */
  record(exchange: ExchangeView): void {
    if (exchange.errorCode === undefined && !this.#isSampled(exchange)) return;
    const app = exchange.version?.app.id ?? '';
    if (!this.#recent.admits(app, Math.floor(exchange.startedAtMs / 1000))) return;
    this.#recent.add(app, this.#recordOf(exchange));
  }

  /** Records an exchange that is shown live. @param id id of its event */
  keepLive(id: string, exchange: ExchangeView): void {
    this.#live.add(id, this.#recordOf(exchange));
  }

  /** The last exchange with this name; undefined when it was not recorded or was overwritten. */
  explain(
    name: ExchangeName,
    settings: ExplainSettings,
    lookups: FixLookups,
  ): { readonly explanation: Explanation; readonly request: string | undefined } | undefined {
    const found = this.#find(name);
    if (found === undefined) return undefined;
    const { facts, request } = found;
    const explanation = explanationOf(facts, undefined, settings, lookups);
    return { explanation: withoutCredentials(explanation), request };
  }

  #find(name: ExchangeName): Recorded | undefined {
    if ('liveId' in name) return this.#live.findById(name.liveId);
    const isWanted = (recorded: Recorded): boolean => isNamed(recorded, name.requestId);
    return this.#recent.find(isWanted) ?? this.#live.findLatest(isWanted);
  }

  #recordOf(exchange: ExchangeView): Recorded {
    const facts = compact(factsOf(exchange, exchange.attempts !== undefined));
    const { requestId, traceId } = facts;
    return { requestId, traceId, facts, request: recordedRequest(exchange, this.#findKeyId) };
  }

  #isSampled(exchange: ExchangeView): boolean {
    const sampling = this.#sampling;
    if (sampling === undefined) return false;
    if (exchange.startedAtMs >= sampling.untilMs) {
      this.#sampling = undefined;
      return false;
    }
    if (sampling.appId !== undefined && exchange.version?.app.id !== sampling.appId) return false;
    this.#credit += sampling.rate;
    if (this.#credit < 1) return false;
    this.#credit -= 1;
    return true;
  }
}

/** @param id id of the request, or of its trace */
function isNamed({ requestId, traceId }: Recorded, id: string): boolean {
  return requestId === id || traceId === id;
}

/** A request that is too long to be kept cannot be run again. */
const REQUEST_CHARS_MAX = 8_192;

function recordedRequest(exchange: ExchangeView, findKeyId: FindKeyId): string | undefined {
  const record = recordOf(exchange, findKeyId);
  if (record === undefined || record.length > REQUEST_CHARS_MAX) return undefined;
  return Buffer.from(readRecord(record).request, 'latin1').toString('latin1');
}

function compact(facts: ExchangeFacts): ExchangeFacts {
  const { endpoint, evaluation, upstreamUrl } = facts;
  return {
    ...facts,
    requestId: copyOf(facts.requestId),
    traceId: facts.traceId === undefined ? undefined : copyOf(facts.traceId),
    method: copyOf(facts.method),
    host: copyOf(facts.host),
    path: copyOf(facts.path),
    restPath: copyOf(facts.restPath),
    endpoint: endpoint && { ...endpoint, parameters: compactData(endpoint.parameters) },
    matchedMethod: copyOf(facts.matchedMethod),
    query: copyOf(recordedQuery(facts.query)),
    browserRefusal: facts.browserRefusal && {
      ...facts.browserRefusal,
      reason: compactReason(facts.browserRefusal.reason),
    },
    headers: facts.headers.slice(0, HEADERS_MAX).map((field) => compactField(recordedField(field))),
    upstreamUrl: upstreamUrl === undefined ? undefined : copyOf(upstreamUrl),
    reason: facts.reason && compactReason(facts.reason),
    evaluation: {
      ...evaluation,
      permitStore: undefined,
      authFailure: undefined,
      shadowDenials: evaluation.shadowDenials?.map(({ part, denial }) => ({
        part,
        denial: compactReason(denial),
      })),
    },
  };
}

function compactReason<Code extends string>({ kind, data }: Reason<unknown, Code>): Reason<unknown, Code> {
  return { kind, data: compactData(data) };
}

/** Plain data with copies of its texts. */
function compactData<T>(data: T): T {
  if (typeof data === 'string') return copyOf(data) as T;
  if (Array.isArray(data)) return data.map((item: unknown) => compactData(item)) as T;
  if (typeof data !== 'object' || data === null) return data;
  const members = Object.entries(data).map(([name, value]) => [name, compactData<unknown>(value)]);
  return Object.fromEntries(members) as T;
}

function compactField({ name, value }: HeaderField): HeaderField {
  return { name: copyOf(name), value: value === REDACTED ? value : copyOf(value, VALUE_CHARS_MAX) };
}

/** A truncated copy: a slice would keep the whole head alive. */
function copyOf(text: string, charsMax: number = PATH_CHARS_MAX): string {
  const cut = text.length > charsMax ? `${text.slice(0, charsMax)}...` : text;
  return Buffer.from(cut, 'latin1').toString('latin1');
}
