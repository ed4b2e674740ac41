/**
 * The hosts of an import: the hosts of its app, if all routes have the same ones. An app has one list of hosts; when
 * routes differ, none is imported and each host is reported.
 */
import { parseHostEntry } from '../../http/fields/host-name.ts';

/** A host of a route, as written. */
export interface AskedHost {
  readonly text: string;
  /** Reports that the host has no effect. */
  readonly lost: () => void;
}

/** The closest feature when hosts cannot be imported. */
export const HOSTS_ELSEWHERE =
  '`hosts` of an app of its own: import what belongs to one host alone, with another --app';

export class RouteHosts {
  readonly #routes: (readonly AskedHost[])[] = [];

  /** @param hosts of one imported route; empty: it matches every host */
  add(hosts: readonly AskedHost[]): void {
    this.#routes.push(hosts);
  }

  /** The hosts of the app; empty when routes differ, which is reported. */
  settle(): readonly string[] {
    const lists = this.#routes.map(entriesOf);
    const [first] = lists;
    if (first !== undefined && first.length > 0 && lists.every((list) => list?.join() === first.join()))
      return first;
    for (const { lost } of this.#routes.flat()) lost();
    return [];
  }
}

/** The hosts in order, each once; undefined when one is not a valid host here. */
function entriesOf(hosts: readonly AskedHost[]): readonly string[] | undefined {
  const entries = new Set<string>();
  for (const { text } of hosts) {
    const parsed = parseHostEntry(text);
    if ('error' in parsed) return undefined;
    entries.add(parsed.entry);
  }
  return [...entries].sort();
}
