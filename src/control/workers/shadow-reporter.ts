/**
 * What a worker tells the main thread of requests that a policy in shadow mode would have denied: counted here,
 * sent once a second, so that a request never waits for another thread. The first of a route and part is sent at
 * once, for the log. A worker that dies takes at most its last second along.
 */
import {
  WouldDenyTally,
  rowKey,
  type WouldDenyCaller,
  type WouldDenyRoute,
  type WouldDenyRow,
} from '../../observe/shadow-denials.ts';
import { operatorDetail } from '../../model/reason.ts';
import type { Evaluation } from '../../policy/stage.ts';
import type { Route } from '../../proxy/context.ts';
import type { Exchange } from '../../proxy/exchange.ts';

/** After this many ticks without one, the next of a route and part is a first again. */
const QUIET_TICKS = 10;
/** Further routes wait for the next second like all others. */
const KNOWN_MAX = 5_000;

export class ShadowNotes {
  readonly #send: (rows: readonly WouldDenyRow[]) => void;
  readonly #tally = new WouldDenyTally();
  /** Routes and parts that were sent lately, with the number of ticks since. */
  readonly #known = new Map<string, number>();

  constructor(send: (rows: readonly WouldDenyRow[]) => void) {
    this.#send = send;
  }

  /** At the end of an exchange. */
  note(exchange: Exchange): void {
    const { route, evaluation } = exchange;
    if (route === undefined || evaluation.wouldDeny === undefined) return;
    const place = placeOf(route);
    const atMs = Math.round(exchange.startedAtMs + exchange.durationMs);
    let isNews = false;
    for (const { part, denial } of evaluation.wouldDeny) {
      const fact = {
        part,
        code: denial.kind.code,
        detail: operatorDetail(denial),
        requestId: exchange.requestId,
        atMs,
      };
      if (this.#tally.add(place, fact, callerOf(evaluation, part)))
        isNews = this.#isNews(place, part) || isNews;
    }
    if (isNews) this.send();
  }

  /** Sends what was counted. */
  send(): void {
    const rows = this.#tally.take();
    if (rows.length > 0) this.#send(rows);
  }

  /** To be called once a second: sends, and forgets what has become quiet. */
  tick(): void {
    this.send();
    for (const [key, ticks] of this.#known) {
      if (ticks >= QUIET_TICKS) this.#known.delete(key);
      else this.#known.set(key, ticks + 1);
    }
  }

  #isNews(place: WouldDenyRoute, part: string): boolean {
    const key = rowKey(place, part);
    const isKnown = this.#known.has(key);
    if (!isKnown && this.#known.size >= KNOWN_MAX) return false;
    this.#known.set(key, 0);
    return !isKnown;
  }
}

/** `auth` would have locked out a key that it knows: its owner is who the operator has to ask, not "anonymous". */
function callerOf({ caller, refusedKeyId, refusedKeyName }: Evaluation, part: string): WouldDenyCaller {
  const { kind, id, name } = caller;
  return part === 'auth' && kind === 'anonymous' && refusedKeyId !== ''
    ? { kind: 'api_key', id: refusedKeyId, name: refusedKeyName }
    : { kind, id, name };
}

function placeOf(route: Route): WouldDenyRoute {
  const { version, revision } = route;
  return {
    appId: version.app.id,
    app: version.app.slug,
    version: version.label,
    revision: revision.label,
    revisionId: revision.id,
    endpointId: route.endpointId ?? null,
    method: route.method,
    route: route.template,
  };
}
