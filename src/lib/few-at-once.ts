/** Runs a task, which must not reject, for each item in order, few at once. Resolves when all have ended. */
export async function fewAtOnce<T>(
  items: readonly T[],
  tasksMax: number,
  task: (item: T) => Promise<unknown>,
): Promise<void> {
  const left = items.values();
  const lane = async (): Promise<void> => {
    for (const item of left) await task(item);
  };
  await Promise.all(Array.from({ length: Math.min(tasksMax, items.length) }, lane));
}
