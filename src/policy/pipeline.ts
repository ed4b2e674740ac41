/**
 * The order in which a request passes the stages of its policy. A part declares the phase of each of its stages;
 * within a phase the order of the registry holds. CORS preflights are answered before the first phase, as soon as the
 * route is known (proxy/handle.ts).
 */

export const PHASES = [
  /** What the connection tells: the address of the client. */
  'address',
  /** What a browser will make of the answer; noted, never denied. */
  'browser',
  /** Who calls. */
  'authentication',
  /** What the caller may do. */
  'authorization',
  /** What the head says of the body. */
  'message',
  /** What takes a place or a permit: last, so that a request that is refused before takes nothing. */
  'quota',
] as const;
type Phase = (typeof PHASES)[number];

export interface StageDeclaration {
  /** That of the part, where it has one stage. */
  readonly name: string;
  readonly phase: Phase;
}

/** Names of the stages that these parts declare, in the order in which they run. */
export function stageNames(parts: readonly { readonly stages?: readonly StageDeclaration[] }[]): string[] {
  return parts
    .flatMap(({ stages = [] }) => stages)
    .toSorted((a, b) => PHASES.indexOf(a.phase) - PHASES.indexOf(b.phase))
    .map(({ name }) => name);
}
