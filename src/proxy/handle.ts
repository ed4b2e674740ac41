/**
 * The stages of a request, in order. Each stage continues, answers the request, or makes it wait; only `run` decides
 * what comes next. docs/explanation/request-path.md explains each stage and its exits.
 */
import { viaHolds } from '../http/fields/forwarded.ts';
import { HeaderKind } from '../http/heads/header-kind.ts';
import { evaluate, releasePermit } from '../policy/evaluate.ts';
import type { Reason } from '../model/reason.ts';
import { startAttempts } from './attempts.ts';
import type { Exchange } from './exchange.ts';
import type { AppOverload } from './exchange-limiter.ts';
import { answerPreflight, locate, match } from './find-route.ts';
import { answerChallenge } from './downstream/acme-challenge.ts';
import { BODY_TOO_LARGE } from './downstream/request-body.ts';
import { redirectToHttps } from './downstream/https-redirect.ts';
import { RequestBuffer } from './io/request-buffer.ts';
import { answerAtLastHop } from './last-hop.ts';
import { INTERNAL_ERROR, LOOP_DETECTED, malformed, OVERLOADED } from './reasons.ts';
import { DONE, NEXT, OTHER_POLICY, type StageResult } from './stage-result.ts';

type Stage = (exchange: Exchange) => StageResult | Promise<StageResult>;

const STAGES: readonly Stage[] = [
  enter, //           room for one more exchange                                 503
  refuseLoop, //      a request that has passed this gateway before              508
  answerChallenge, //  of an authority that issues a certificate                 200
  redirectToHttps, //  where the settings ask for it                             308 400
  locate, //          the canonical path                                         400, 204 for OPTIONS *
  answerPreflight, // CORS preflight, without credentials                        204
  match, //           version, revision, endpoint                                400 404 410 503
  enterApp, //        room for one more of the app                               503
  evaluatePolicy, //  authentication, scopes, methods, body size, limits         401 403 405 413 421 429
  answerAtLastHop, // OPTIONS and TRACE that may go no further                   200 204 400
  waitForBody, //     only where the policy asks for it                          408 413
  startAttempts, //   revision, breaker, backend, retries                        503, and 408 413 431 502 504
];
const POLICY_STAGE = STAGES.indexOf(evaluatePolicy);

export function handle(exchange: Exchange): void {
  run(exchange, 0);
}

/** Runs the stages from number `first` on, until one answers the request or waits. */
function run(exchange: Exchange, first: number): void {
  try {
    let stage = first;
    while (stage < STAGES.length) {
      const result = (STAGES[stage] as Stage)(exchange);
      if (typeof result === 'object') return void runAfter(exchange, stage, result);
      if (result === DONE) return;
      stage = result === OTHER_POLICY ? POLICY_STAGE : stage + 1;
    }
  } catch (error) {
    fail(exchange, error);
  }
}

async function runAfter(exchange: Exchange, stage: number, waiting: Promise<StageResult>): Promise<void> {
  try {
    const result = await waiting;
    if (result !== DONE && !exchange.ended) run(exchange, result === OTHER_POLICY ? POLICY_STAGE : stage + 1);
  } catch (error) {
    fail(exchange, error);
  } finally {
    // The client disconnected meanwhile: release what the evaluation acquired afterwards.
    if (exchange.ended) releasePermit(exchange.evaluation);
  }
}

/** The first of all stages: refusing must cost less than serving. */
function enter(exchange: Exchange): StageResult {
  return exchange.tryEnter() ? NEXT : refuseFull(exchange, 'exchanges');
}

/** Before the policy is evaluated, which may call a store. */
function enterApp(exchange: Exchange): StageResult {
  const { version } = exchange;
  const full = version && exchange.tryEnterApp(version.app.id);
  return full === undefined ? NEXT : refuseFull(exchange, full);
}

function refuseFull(exchange: Exchange, full: AppOverload): StageResult {
  const { context } = exchange;
  context.observer.overloaded(full);
  const max = context.exchangeLimiter.permitsMax;
  exchange.respondProblem({ kind: OVERLOADED, data: { full, max } });
  return DONE;
}

/** RFC 9110 section 7.6.3. */
function refuseLoop(exchange: Exchange): StageResult {
  const { head } = exchange.connection;
  const received = head.first(HeaderKind.via) < 0 ? undefined : head.combined('via');
  if (received === undefined || !viaHolds(received, exchange.context.via)) return NEXT;
  exchange.respondProblem(LOOP_DETECTED);
  return DONE;
}

function evaluatePolicy(exchange: Exchange): StageResult | Promise<StageResult> {
  const { route } = exchange;
  if (route === undefined) return DONE;
  const verdict = evaluate(route.policy, exchange, exchange.evaluation);
  if (verdict instanceof Promise) return verdict.then((denial) => obey(exchange, denial));
  return obey(exchange, verdict);
}

function obey(exchange: Exchange, denial: Reason | undefined): StageResult {
  if (denial === undefined) {
    exchange.timeline?.decided();
    return NEXT;
  }
  if (exchange.ended) return DONE;
  exchange.context.observer.policyDecided(exchange, denial);
  exchange.respondProblem(denial, denial.kind.endsConnection !== true);
  return DONE;
}

function waitForBody(exchange: Exchange): StageResult | Promise<StageResult> {
  const { connection, context, route } = exchange;
  if (route === undefined) return DONE;
  const { policy, version } = route;
  // The length of a chunked body is known only at its end.
  connection.body.bytesMax = policy.maxBodyBytes || context.options.maxBodyBytes;
  if (policy.bufferRequestBytes === 0 || exchange.buffer !== undefined || connection.body.complete)
    return NEXT;
  if (context.interceptUpstream !== undefined) return judgeDescribedBody(exchange);
  if (context.requestMemory.isFullFor(version.app.id)) return NEXT;
  return new Promise((resolve) => {
    const onReady = (): void => {
      connection.deadlineMs = context.deadlines.nowMs + context.options.firstByteTimeoutMs;
      resolve(NEXT);
    };
    exchange.bufferBody(new RequestBuffer(exchange, version.app.id, policy.bufferRequestBytes, onReady));
  });
}

/** What a buffer would find while it is filled: a chunked body that is too long. */
function judgeDescribedBody(exchange: Exchange): StageResult {
  const { bytesMax, isChunked } = exchange.connection.body;
  if (!isChunked || bytesMax === 0 || (exchange.context.describedBodyBytes ?? 0) <= bytesMax) return NEXT;
  exchange.respondProblem(malformed(BODY_TOO_LARGE), false);
  return DONE;
}

/**
 * Handles a defect of the gateway. The defect may also be in what the answer is built from, such as the fields of
 * the policy.
 */
function fail(exchange: Exchange, error: unknown): void {
  const { observer } = exchange.context;
  observer.internalError(error, exchange.requestId);
  try {
    exchange.respondProblem(INTERNAL_ERROR, false);
  } catch (next) {
    observer.internalError(next, exchange.requestId);
    exchange.respondBare();
  }
}
