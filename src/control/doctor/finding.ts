/** What an examination of this machine finds: one finding for each thing that was looked at. */

export interface Finding {
  /** What was looked at, such as `ports`. */
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'error';
  readonly detail: string;
  /** What to do; only beside a warning or an error. */
  readonly fix?: string;
}

export const ok = (check: string, detail: string): Finding => ({ check, state: 'ok', detail });
export const warning = (check: string, detail: string, fix: string): Finding => ({
  check,
  state: 'warning',
  detail,
  fix,
});
export const error = (check: string, detail: string, fix: string): Finding => ({
  check,
  state: 'error',
  detail,
  fix,
});
