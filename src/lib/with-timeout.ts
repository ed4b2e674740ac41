/** A bounded wait for work that cannot be cancelled. The work continues after the time-out; its outcome is ignored. */

/** Resolves or rejects with `work`; resolves with undefined when that takes longer than `ms`. */
export async function withTimeout<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
