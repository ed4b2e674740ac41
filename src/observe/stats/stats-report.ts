/**
 * What a worker reports to the main thread once a second for the gateway's own time series. Survives a structured
 * clone.
 */

/** The place whose traffic is counted. Names are current ones; ids stay the same when a record is renamed. */
export type StatsPlace =
  | { readonly kind: 'gateway' }
  | { readonly kind: 'app'; readonly appId: string; readonly app: string }
  | {
      readonly kind: 'version';
      readonly appId: string;
      readonly app: string;
      readonly versionId: string;
      readonly version: string;
    }
  | {
      readonly kind: 'route';
      readonly appId: string;
      readonly app: string;
      readonly versionId: string;
      readonly version: string;
      /** Method and template, such as `GET /shop/v1/items/{id}`. */
      readonly route: string;
    }
  | { readonly kind: 'key'; readonly id: string; readonly name: string; readonly appId: string };

export interface StatsReport {
  /** The second that has ended, by the wall clock. */
  readonly unixSecs: number;
  /** Open connections of clients, and requests under way, at the end of the second. */
  readonly connections: number;
  readonly inFlight: number;
  readonly places: readonly StatsPlace[];
  /** For each place: the number of its columns, then each column with its value. */
  readonly values: Float64Array;
}
