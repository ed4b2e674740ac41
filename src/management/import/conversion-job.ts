/**
 * The job of the thread that converts descriptions, and its answer. Kept apart from the conversion, whose packages
 * take long to load.
 */

/** YAML takes a hundred times as long to parse as JSON. */
export const YAML_BYTES_MAX = 512 * 1024;
export const NOTES_MAX = 1_000;

/** The client's request and the gateway's current state. Plain data. */
export interface ConversionJob {
  readonly document: unknown;
  /** Slug. */
  readonly app: string;
  readonly version?: string;
  readonly revision?: string;
  readonly gateway_path?: string;
  readonly backend?: string;
  readonly security?: boolean;
  /** The app as it is declared; undefined when there is none. */
  readonly known: Readonly<Record<string, unknown>> | undefined;
}

/** Start data of the thread. */
export interface ConversionStart {
  readonly job: ConversionJob;
  /** Of the main thread. */
  readonly version: string;
}

export interface Converted {
  readonly config: object;
  readonly operations: number;
  readonly notes: readonly string[];
  readonly notes_total: number;
}

/** The problem, and the field of the job that it is about. */
export interface NotConverted {
  readonly field: 'document' | 'backend';
  readonly problem: string;
}

/** Also resolves with a problem when the conversion takes too long. */
export type Convert = (job: ConversionJob) => Promise<Converted | NotConverted>;
