/**
 * Counts in a worker the requests that a policy in shadow mode would have denied, and sends the counts to the main
 * thread once a second, so that a request never waits for another thread. A worker that dies loses its last second.
 */
import {
  ShadowTally,
  shadowRow,
  type ShadowCaller,
  type ShadowRow,
  type ShadowRoute,
} from '../../observe/shadow-tally.ts';
import { operatorDetail } from '../../model/reason.ts';
import type { Evaluation } from '../../policy/stage.ts';
import type { Route } from '../../proxy/interfaces/route.ts';
import type { ExchangeView } from '../../proxy/interfaces/exchange-view.ts';

const BOUNDS = { rows: 2_000, callers: 20_000, rowCallers: 50 };

export class ShadowReporter {
  readonly #send: (rows: readonly ShadowRow[]) => void;
  #tally = new ShadowTally(BOUNDS);

  constructor(send: (rows: readonly ShadowRow[]) => void) {
    this.#send = send;
  }

  /** Called at the end of an exchange. */
  note(exchange: ExchangeView): void {
    const { route, evaluation } = exchange;
    if (route === undefined || evaluation.shadowDenials === undefined) return;
    const place = placeOf(route);
    const atMs = Math.round(exchange.startedAtMs + exchange.durationMs);
    for (const { part, denial } of evaluation.shadowDenials) {
      const { code } = denial.kind;
      const sample = { part, code, detail: operatorDetail(denial), requestId: exchange.requestId, atMs };
      this.#tally.add(shadowRow(place, sample, callerOf(evaluation, code)));
    }
  }

  /** Sends the counts since the last call. */
  send(): void {
    if (this.#tally.rowCount === 0) return;
    const rows = [...this.#tally.rows()];
    this.#tally = new ShadowTally(BOUNDS);
    this.#send(rows);
  }
}

/** A known key that would be refused is named and not counted as anonymous: its owner must be informed. */
function callerOf({ caller, refusedKeyId, refusedKeyName }: Evaluation, code: string): ShadowCaller {
  const { kind, id, name } = caller;
  return code === 'credentials_invalid' && kind === 'anonymous' && refusedKeyId !== ''
    ? { kind: 'api_key', id: refusedKeyId, name: refusedKeyName }
    : { kind, id, name };
}

function placeOf(route: Route): ShadowRoute {
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
