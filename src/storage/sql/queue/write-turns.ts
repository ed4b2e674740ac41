/**
 * Whose waiting write is next: actors take turns, and so do the apps to which one actor writes. So the writes of one
 * team do not wait until all of another team are done, and many names of apps give an actor no further turns.
 */
import type { DeadlineBudget, Party } from '../../../lib/deadline-budget.ts';

interface Waiting {
  readonly account: Pick<DeadlineBudget, 'party'>;
}

/** Limit of the actors and apps whose turns are known; then all begin anew. */
const KNOWN_MAX = 10_000;
/** What the gateway writes by itself. */
const GATEWAY: Party = { actor: '', app: '' };

export class WriteTurns {
  /** The number of the last turn, by actor, and by actor and app. */
  readonly #last = new Map<string, number>();
  #turn = 0;

  /** The next writes, at most `count`. @param waiting in the order of arrival */
  next<W extends Waiting>(waiting: readonly W[], count: number): W[] {
    const lines = new Map<string, W[]>();
    for (const write of waiting) {
      const name = appOf(write.account.party);
      const line = lines.get(name);
      if (line === undefined) lines.set(name, [write]);
      else if (line.length < count) line.push(write);
    }
    const last = new Map<string, number>();
    const turnOf = (name: string): number => last.get(name) ?? this.#last.get(name) ?? 0;
    const chosen: W[] = [];
    while (chosen.length < count && lines.size > 0) {
      let [name, ofActor, ofApp] = ['', Infinity, Infinity];
      for (const [each, [write]] of lines) {
        const [actorTurn, appTurn] = [turnOf(actorOf(write?.account.party)), turnOf(each)];
        if (actorTurn > ofActor || (actorTurn === ofActor && appTurn >= ofApp)) continue;
        [name, ofActor, ofApp] = [each, actorTurn, appTurn];
      }
      const line = lines.get(name);
      const write = line?.shift();
      if (line?.length === 0) lines.delete(name);
      if (write === undefined) break;
      chosen.push(write);
      last.set(name, this.#turn + chosen.length);
      last.set(actorOf(write.account.party), this.#turn + chosen.length);
    }
    return chosen;
  }

  /** A write of this party has begun. */
  taken(party: Party | undefined): void {
    if (this.#last.size > KNOWN_MAX) this.#last.clear();
    this.#turn += 1;
    this.#last.set(actorOf(party), this.#turn);
    this.#last.set(appOf(party), this.#turn);
  }
}

const actorOf = ({ actor }: Party = GATEWAY): string => actor;
const appOf = ({ actor, app }: Party = GATEWAY): string => `${actor} ${app}`;
