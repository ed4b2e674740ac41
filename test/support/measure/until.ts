/** Waits for what happens on its own and sends no event: the condition is looked at again and again. */

/** What `look` gives as long as it is too early. */
type NotYet = undefined | false;

/** Resolves with what `look`, asked every `intervalMs`, gives once that is neither undefined nor false. */
export async function until<T>(
  look: () => T | NotYet | Promise<T | NotYet>,
  timeoutMs = 30_000,
  intervalMs = 20,
  what = String(look),
): Promise<T> {
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > endMs) throw new Error(`Not within ${timeoutMs} ms: ${what}`);
    await new Promise((done) => setTimeout(done, intervalMs));
  }
}

/** For conditions in this very process, which take next to no time to look at and to come about. */
export async function untilHolds(look: () => boolean, what: string, timeoutMs = 10_000): Promise<void> {
  await until(look, timeoutMs, 2, what);
}
