/**
 * The hosts of an import: those of its app, where all routes ask for the same ones. An app has one list of hosts, so
 * where routes differ none is carried over, and each is reported.
 */
import { parseHostEntry } from '../../http/fields/host-name.ts';

/** A host that a route asks for, as it is written. */
export interface AskedHost {
  readonly text: string;
  /** Reports that it has no effect. */
  readonly lost: () => void;
}

/** What has its place elsewhere when hosts are lost. */
export const HOSTS_ELSEWHERE = '`hosts` of an app of its own';

export class RouteHosts {
  readonly #routes: (readonly AskedHost[])[] = [];

  /** @param hosts of one route that is carried over; none: it takes every host */
  add(hosts: readonly AskedHost[]): void {
    this.#routes.push(hosts);
  }

  /** The hosts of the app; empty where routes differ, which is reported then. */
  settle(): readonly string[] {
    const lists = this.#routes.map(entriesOf);
    const [first] = lists;
    if (first !== undefined && first.length > 0 && lists.every((list) => list?.join() === first.join()))
      return first;
    for (const { lost } of this.#routes.flat()) lost();
    return [];
  }
}

/** In order, each once; undefined if one is no host here. */
function entriesOf(hosts: readonly AskedHost[]): readonly string[] | undefined {
  const entries = new Set<string>();
  for (const { text } of hosts) {
    const parsed = parseHostEntry(text);
    if ('error' in parsed) return undefined;
    entries.add(parsed.entry);
  }
  return [...entries].sort();
}
