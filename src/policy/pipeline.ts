/**
 * The order in which a request passes the stages of its policy. A part declares the phase of each of its stages;
 * within a phase the order of the registry holds. CORS preflights are answered before the first phase, as soon as the
 * route is known (proxy/handle.ts).
 */

export const PHASES = [
  /** Checks of the connection: the address of the client. */
  'address',
  /** What a browser would refuse; recorded, never denied. */
  'browser',
  /** Who calls. */
  'authentication',
  /** What the caller may do. */
  'authorization',
  /** Checks of the body that the head announces. */
  'message',
  /** Stages that take a place or a permit: last, so that a request that is refused earlier takes nothing. */
  'quota',
] as const;
type Phase = (typeof PHASES)[number];

export interface StageDeclaration {
  /** The name of the part, if it has a single stage. */
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
