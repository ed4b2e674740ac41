/**
 * Explains a described request by running it: the engine itself (connection.ts, handle.ts) reads the described head
 * from a socket without a network, in the worker's own context except for anything that would leave a trace. Policies
 * read counters without consuming, breakers and weighted choices are copies, nothing is reported, and the request to
 * the backend is noted instead of sent. The explanation therefore cannot differ from what the proxy does. The only
 * thing it sends is the fetch of a key set that a JWT needs (bounded by jwks.ts).
 */
import { QUIET_OBSERVER } from './replay/quiet-observer.ts';
import { normaliseAddress } from '../http/address.ts';
import { RESPONSE_VIA, viaLine } from '../http/fields/forwarded.ts';
import { BodyFraming } from '../http/bodies/framing.ts';
import { foldedName } from '../lib/folded-name.ts';
import type { ExplainInput, Explanation, HeaderField } from './schema.ts';
import type { PolicyCompilers } from '../policy/compile-policy.ts';
import type { CounterReads } from '../policy/trial/read-only-context.ts';
import type { ClientTls, CompiledPolicy } from '../policy/stage.ts';
import type { CompiledVersion, Snapshot } from '../config/types.ts';
import { Connection } from '../proxy/downstream/connection.ts';
import type { ProxyObserver } from '../proxy/interfaces/observer.ts';
import type { ProxyContext } from '../proxy/interfaces/proxy-context.ts';
import type { Route } from '../proxy/interfaces/route.ts';
import type { AnswerableExchange, ExchangeView } from '../proxy/interfaces/exchange-view.ts';
import { explanationOf, type Described } from './answer.ts';
import { factsOf, type ExchangeFacts } from './facts.ts';
import { fieldsOfLines, isSecretName, shownField, withoutRepeated } from './redact.ts';
import { describedHead, describedTls, fieldsOf, isDescribedSecure } from './described-request.ts';
import { ExplainSocket } from './described-socket.ts';
import type { ExplainSettings } from '../policy/part-explain.ts';
import type { FixLookups } from './fix.ts';
import { ExchangeLimiter } from '../proxy/exchange-limiter.ts';
import { WaitingClients } from '../proxy/downstream/waiting-clients.ts';
import { type MatchErrorCode, type PathRefusal, type MatchResult } from '../proxy/match.ts';
import { backendOf } from '../proxy/targets/backend-of.ts';
import { backendDenial } from '../proxy/upstream/upstream-socket.ts';
import { upstreamPath } from '../proxy/upstream-path.ts';
import { BODY_TOO_LARGE } from '../proxy/downstream/request-body.ts';
import { malformed } from '../proxy/reasons.ts';
import { responseFields } from '../proxy/respond.ts';
import { requestedUpgrade } from '../http/fields/switch-protocol.ts';
import { upstreamFailed } from '../proxy/upstream/upstream-failure.ts';
import { upstreamRequestHead } from '../proxy/upstream/upstream-head.ts';

export interface ExplainParts {
  readonly context: ProxyContext;
  readonly compilers: PolicyCompilers;
  readonly settings: ExplainSettings;
  readonly lookups: FixLookups;
  /** Whether the traffic listener speaks TLS. */
  readonly isSecure: boolean;
  /** Whether there is a port without TLS beside it: the scheme of a described URL then says which is meant. */
  readonly hasPlainPort: boolean;
  /** In place of what the description says, with TLS. */
  readonly clientTls?: ClientTls;
}

export type Explain = (input: ExplainInput) => Promise<Explanation>;

export function createExplain(parts: ExplainParts): Explain {
  return async (input) => {
    let run = await runDescribed(input, parts, undefined);
    // The route decides which field contains the credential, so it is known only after the match.
    const place = run.facts.policy?.credentialPlace?.name;
    if (input.token !== undefined && place !== undefined) run = await runDescribed(input, parts, place);
    const { facts, ...described } = run;
    return explanationOf(asDescribed(facts, input), described, parts.settings, parts.lookups);
  };
}

/** Adds what the engine cannot know: a body that is never sent, and fields of a head that it could not read. */
function asDescribed(facts: ExchangeFacts, input: ExplainInput): ExchangeFacts {
  const isReadable = facts.method !== '';
  return {
    ...facts,
    method: isReadable ? facts.method : input.method,
    headers: isReadable ? facts.headers : fieldsOf(input).map(([name, value]) => shownField(name, value)),
    bodyBytes: input.body_bytes ?? facts.bodyBytes,
  };
}

interface Outcome {
  readonly facts: ExchangeFacts;
  readonly upstreamHeaders: readonly HeaderField[];
  /** undefined: the gateway has written one. */
  readonly response: Explanation['response'] | undefined;
}

interface Run extends Described {
  readonly facts: ExchangeFacts;
}

/** @param place see `describedHead` */
async function runDescribed(
  input: ExplainInput,
  parts: ExplainParts,
  place: string | undefined,
): Promise<Run> {
  const counterReads: CounterReads = { limits: [], caps: [] };
  const socket = new ExplainSocket();
  const outcome = await feed(input, describedHead(input, place), parts, counterReads, socket);
  const response = outcome.response ?? responseOf(socket.written);
  const secrets = secretValues(input, outcome.facts.policy?.credentialPlace?.foldedName);
  return {
    facts: outcome.facts,
    upstreamHeaders: withoutRepeated(outcome.upstreamHeaders, secrets),
    response: { ...response, headers: withoutRepeated(response.headers, secrets) },
    counterReads,
  };
}

/** Values of described fields that are masked. @param place folded name of the field with the credential */
function secretValues(input: ExplainInput, place: string | undefined): string[] {
  const values = fieldsOf(input)
    .filter(([name]) => isSecretName(name) || foldedName(name) === place)
    .map(([, value]) => Buffer.from(value.trim(), 'utf8').toString('latin1'));
  if (input.token !== undefined) values.push(input.token);
  return values.filter((value) => value !== '');
}

/** Feeds the request to a connection and waits for the result. */
function feed(
  input: ExplainInput,
  head: string,
  parts: ExplainParts,
  counterReads: CounterReads,
  socket: ExplainSocket,
): Promise<Outcome> {
  return new Promise((resolve) => {
    let settled = false;
    const observer: ProxyObserver = {
      ...QUIET_OBSERVER,
      exchangeEnded: (exchange) => {
        if (settled) return;
        settled = true;
        resolve({ facts: factsOf(exchange, false), upstreamHeaders: [], response: undefined });
      },
      internalError: (error, requestId) => parts.context.observer.internalError(error, requestId),
    };
    const interceptUpstream = (exchange: AnswerableExchange, route: Route): void => {
      // A chunked body is measured while it arrives, when the backend already has the first part of it.
      const { bytesMax, isChunked } = exchange.connection.body;
      if (isChunked && bytesMax > 0 && (input.body_bytes ?? 0) > bytesMax)
        return exchange.respondProblem(malformed(BODY_TOO_LARGE), false);
      const backend = backendOf(exchange, route);
      const denial = backendDenial(parts.context.egress, backend);
      if (denial !== undefined)
        return exchange.respondProblem(
          upstreamFailed(backend.authority, { cause: 'denied', fault: 'egress_denied', text: denial }),
        );
      settled = true;
      resolve(forwardedRun(exchange, route));
      exchange.abort();
    };
    const describedBodyBytes = input.body_bytes ?? 0;
    const ends = { observer, interceptUpstream, describedBodyBytes };
    const context = readOnlyContext(parts, counterReads, ends);
    const address = input.client_ip ?? '127.0.0.1';
    const peer = normaliseAddress(address) ?? address;
    // The connection attaches itself to the socket and is collected with it.
    const isSecure = parts.isSecure && !(parts.hasPlainPort && isDescribedSecure(input) === false);
    const tls = isSecure ? (parts.clientTls ?? describedTls(input)) : undefined;
    void new Connection(socket, peer, isSecure, context, () => undefined, { tls });
    socket.receive(Buffer.from(head, 'utf8'));
  });
}

function forwardedRun(exchange: ExchangeView, route: Route): Outcome {
  const { connection, path, suffixStart } = exchange;
  const { head } = connection;
  const isWhole = head.framing === BodyFraming.none || head.contentLength === 0;
  const upgrade = requestedUpgrade(head);
  const target = upstreamPath(route, path, suffixStart);
  const backend = backendOf(exchange, route);
  const expects = head.expectContinue && !isWhole;
  const lines = upstreamRequestHead(exchange, route, backend, target, expects, upgrade);
  // Assumes a backend that speaks HTTP/1.1 and adds no Via of its own; a 101 has no Via.
  const via = upgrade === undefined ? viaLine(RESPONSE_VIA, 1, undefined) : '';
  const response = { status: null, headers: fieldsOfLines(via + responseFields(exchange, '')), body: null };
  const place = route.policy.credentialPlace?.foldedName;
  const upstreamHeaders = fieldsOfLines(lines.slice(lines.indexOf('\r\n') + 2), place);
  return { facts: factsOf(exchange, true), upstreamHeaders, response };
}

function readOnlyContext(
  { context, compilers }: ExplainParts,
  counterReads: CounterReads,
  ends: Pick<ProxyContext, 'observer' | 'interceptUpstream' | 'describedBodyBytes'>,
): ProxyContext {
  const compile = compilers.readOnly(counterReads);
  return {
    ...context,
    ...ends,
    // A described request is not counted by the limiter.
    exchangeLimiter: new ExchangeLimiter(Infinity),
    waiting: new WaitingClients(),
    snapshot: () => readOnlySnapshot(context.snapshot()),
    breakerOf: (revision) => context.breakerOf(revision)?.copy(),
    targetsOf: (revision) => context.targetsOf(revision)?.copy(),
    match: new ReadOnlyMatch((route) => ({
      ...route,
      policy: compile(route.effective, route.version.app),
    })),
  };
}

/** The same snapshot with copies of the weighted choices. */
function readOnlySnapshot(snapshot: Snapshot<CompiledPolicy>): Snapshot<CompiledPolicy> {
  return {
    configVersion: snapshot.configVersion,
    findVersion: (path, authority) => {
      const version = snapshot.findVersion(path, authority);
      return version?.choice === undefined ? version : { ...version, choice: version.choice.copy() };
    },
    findAtAnyHost: (path) => snapshot.findAtAnyHost(path),
    findNear: (path, authority) => snapshot.findNear(path, authority),
    findKeyByHash: (hash) => snapshot.findKeyByHash(hash),
  };
}

/** A match whose routes run read-only policies; compiled only for the route that is found. */
class ReadOnlyMatch implements MatchResult<CompiledPolicy> {
  code: MatchErrorCode | undefined = undefined;
  refusal: PathRefusal | undefined = undefined;
  alike = '';
  version: CompiledVersion<CompiledPolicy> | undefined = undefined;
  suffixStart = 0;
  readonly #readOnly: (route: Route) => Route;
  #found: Route | undefined;
  #route: Route | undefined;

  constructor(readOnly: (route: Route) => Route) {
    this.#readOnly = readOnly;
  }

  get route(): Route | undefined {
    return this.#route;
  }

  set route(found: Route | undefined) {
    if (found !== undefined && (found === this.#found || found === this.#route)) return;
    this.#found = found;
    this.#route = found === undefined ? undefined : this.#readOnly(found);
  }
}

/** Parses the response that the gateway has written. The text of another answer than a problem is not returned. */
function responseOf(written: string): Explanation['response'] {
  const end = written.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = written.slice(0, end).split('\r\n');
  const body = written.slice(end + 4);
  const fields = lines.join('\r\n');
  const isProblem = body !== '' && /^content-type: application\/problem\+json/im.test(fields);
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: fieldsOfLines(fields),
    body: isProblem ? (JSON.parse(body) as unknown) : null,
  };
}
