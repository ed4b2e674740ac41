/**
 * Turns for work that takes processor time and is shared by all apps: few tasks run at once. Apps that wait take turns,
 * and so do the clients of each app, whatever the number of tasks of each. Otherwise the tasks of one client would
 * delay the requests of all others, and more threads than processors would leave little time to the threads that serve
 * requests.
 *
 * What waits is bounded by the requests under way; a task whose request has ended when its turn comes does not run.
 */

/** On whose behalf a task runs. */
export interface Turn {
  readonly appId: string;
  /** Whose tasks take turns with those of the other clients of the app. Called when the task has to wait. */
  readonly client: () => string;
  /** Whether the request has ended, so that nothing needs the result. */
  readonly isOver: () => boolean;
}

/** Tasks of one client of an app, in order of arrival. */
class Line {
  #first: Waiting;
  #last: Waiting;

  constructor(begin: () => void) {
    this.#first = this.#last = { begin, next: undefined };
  }

  add(begin: () => void): void {
    this.#last = this.#last.next = { begin, next: undefined };
  }

  /** Takes the first task. @returns whether others wait behind it */
  begin(): boolean {
    const { begin, next } = this.#first;
    if (next !== undefined) this.#first = next;
    begin();
    return next !== undefined;
  }
}

interface Waiting {
  readonly begin: () => void;
  next: Waiting | undefined;
}

/** What waits on behalf of one app, by client, in the order of their next turns. */
type Clients = Map<string, Line>;

export class FairTurns {
  readonly #tasksMax: number;
  #running = 0;
  /** By id of an app, in the order of their next turns. */
  readonly #apps = new Map<string, Clients>();

  constructor(tasksMax: number) {
    this.#tasksMax = tasksMax;
  }

  /** @returns the result of the task; undefined if it did not run */
  async run<T>(turn: Turn, task: () => Promise<T>): Promise<T | undefined> {
    if (this.#running < this.#tasksMax) this.#running++;
    else await new Promise<void>((begin) => this.#wait(turn, begin));
    try {
      return turn.isOver() ? undefined : await task();
    } finally {
      this.#end();
    }
  }

  #wait({ appId, client }: Turn, begin: () => void): void {
    const clients: Clients = this.#apps.get(appId) ?? new Map();
    if (clients.size === 0) this.#apps.set(appId, clients);
    const name = client();
    const line = clients.get(name);
    if (line === undefined) clients.set(name, new Line(begin));
    else line.add(begin);
  }

  /** Hands the place of the task that ended to the app and the client whose turn is next. */
  #end(): void {
    const app = first(this.#apps);
    const next = app && first(app[1]);
    if (app === undefined || next === undefined) {
      this.#running--;
      return;
    }
    const [appId, clients] = app;
    const [client, line] = next;
    this.#apps.delete(appId);
    clients.delete(client);
    if (line.begin()) clients.set(client, line);
    if (clients.size > 0) this.#apps.set(appId, clients);
  }
}

function first<V>(map: ReadonlyMap<string, V>): [string, V] | undefined {
  for (const entry of map) return entry;
  return undefined;
}
