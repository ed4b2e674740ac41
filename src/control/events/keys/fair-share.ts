/**
 * Keeps a bounded number of items of several groups. The room is shared evenly, and groups may use what others leave.
 * So a group with many items takes no room from small groups. Counts the items that it does not keep.
 */
export interface Shared<Item> {
  readonly item: Item;
  /** Only in the last item of its group: the number of items of the group that were not kept. */
  readonly leftOut: number;
}

interface Group<Item> {
  readonly kept: Item[];
  found: number;
}

export class FairShare<Item> {
  readonly #max: number;
  readonly #groups = new Map<string, Group<Item>>();
  /** Limit for one group. */
  #keptMax: number;
  #kept = 0;

  /** @param max limit for all groups */
  constructor(max: number) {
    this.#max = max;
    this.#keptMax = max;
  }

  add(groupId: string, item: Item): void {
    const group = this.#group(groupId);
    group.found += 1;
    if (group.kept.length >= this.#keptMax) return;
    group.kept.push(item);
    this.#kept += 1;
    if (this.#kept > this.#max) this.#makeRoom(group);
  }

  /** Counts `count` more items of the group that are not kept. */
  leaveOut(groupId: string, count: number): void {
    this.#group(groupId).found += count;
  }

  /** Group by group, each in the order in which its items were added. */
  *items(): IterableIterator<Shared<Item>> {
    for (const { kept, found } of this.#groups.values())
      for (const [index, item] of kept.entries())
        yield { item, leftOut: index === kept.length - 1 ? found - kept.length : 0 };
  }

  /** The largest groups lose their last item; if each has only one, `newest` loses its item. */
  #makeRoom(newest: Group<Item>): void {
    const groups = [...this.#groups.values()];
    const largest = groups.reduce((most, { kept }) => Math.max(most, kept.length), 0);
    const losers = largest === 1 ? [newest] : groups.filter(({ kept }) => kept.length === largest);
    for (const { kept } of losers) kept.pop();
    this.#kept -= losers.length;
    this.#keptMax = Math.max(1, largest - 1);
  }

  #group(groupId: string): Group<Item> {
    let group = this.#groups.get(groupId);
    if (group === undefined) {
      group = { kept: [], found: 0 };
      this.#groups.set(groupId, group);
    }
    return group;
  }
}
