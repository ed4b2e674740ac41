/** The findings of a check of this machine, one for each thing checked. */

export interface Finding {
  /** What was checked, such as `ports`. */
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'error';
  readonly detail: string;
  /** How to fix it; only with a warning or an error. */
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
