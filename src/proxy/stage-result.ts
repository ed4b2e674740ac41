/** The result of a stage of handle.ts. */

/** The request continues with the next stage. */
export const NEXT = 1;
/** The request was answered, or was sent to its backend. */
export const DONE = 0;
/** The request goes to a revision with another policy, which decides again. */
export const OTHER_POLICY = 2;

export type StageResult = typeof NEXT | typeof DONE | typeof OTHER_POLICY;
