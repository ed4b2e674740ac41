/** What a plan answers: the changes, and what the recent requests would get. */
export interface PlanSide {
  readonly status: number | null;
  readonly code: string | null;
  readonly backends: readonly string[];
  readonly cors_refused: boolean;
}

export interface TrafficGroup {
  readonly from: PlanSide;
  readonly to: PlanSide;
  readonly by: { readonly kind: string; readonly id: string; readonly name: string };
  readonly count: number;
  /** Method and path of the first of them. */
  readonly first: string;
}

export interface PlanTraffic {
  readonly requests: number;
  readonly recorded: number;
  readonly since: string | null;
  readonly changed: number;
  readonly undecided: number;
  readonly groups: readonly TrafficGroup[];
  readonly groups_total: number;
  readonly problem: string | null;
}

export interface PlannedChange {
  readonly change: 'create' | 'update' | 'delete';
  readonly type: string;
  readonly path: readonly string[];
  readonly fields: Readonly<Record<string, { readonly before: unknown; readonly after: unknown }>>;
  readonly below?: number;
}

export interface PlanAnswer {
  readonly base_version: number;
  readonly totals: Readonly<Record<PlannedChange['change'], number>>;
  readonly changes: readonly PlannedChange[];
  readonly traffic?: PlanTraffic | null;
  readonly created_keys?: readonly { readonly app: string; readonly name: string; readonly token: string }[];
}
