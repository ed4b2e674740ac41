/** What a stage of handle.ts makes of a request. */

/** The request goes on to the next stage. */
export const NEXT = 1;
/** The request was answered, or has left the stages for its backend. */
export const DONE = 0;
/** The request goes to a revision under another policy, which decides anew. */
export const OTHER_POLICY = 2;

export type StageResult = typeof NEXT | typeof DONE | typeof OTHER_POLICY;
