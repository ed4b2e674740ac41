/** What an alert is: what it watches, what it says, and what promtool tries it with. Pure. */

/** Series in the notation of promtool, such as `0+10x30`: values a minute (or `interval`) apart. */
export type Series = Readonly<Record<string, string>>;

export interface AlertTrial {
  /** Default: 1m. */
  readonly interval?: string;
  /** First what the alert is for, then as it should be. */
  readonly series: Series;
  readonly firesAt: string;
  readonly resolvedAt: string;
  /** The labels of the alert besides its severity. */
  readonly labels: Readonly<Record<string, string>>;
  /** `$value`, as the texts have it. */
  readonly value?: string;
  /** Just not bad enough, or not for long enough: silent at `firesAt`. */
  readonly below: Series;
}

export interface Alert {
  readonly name: string;
  /** `critical`: users notice now. `warning`: look today. */
  readonly severity: 'critical' | 'warning';
  readonly for: string;
  readonly expr: string;
  readonly summary: string;
  readonly description: string;
  readonly trial: AlertTrial;
}

/** The page whose sections say what each alert means and what to do. */
export const ALERTS_PAGE = 'docs/how-to/alerts.md';

export const anchorOf = ({ name }: Pick<Alert, 'name'>): string => name.toLowerCase();

/** A counter that grows by `step` a sample, for so many samples, then by the next, and so on. */
export function counter(...parts: readonly (readonly [samples: number, step: number])[]): string {
  let value = 0;
  return parts
    .map(([samples, step]) => {
      const text = `${value + step}+${step}x${samples - 1}`;
      value += step * samples;
      return text;
    })
    .join(' ');
}

/** A gauge that has a value for so many samples, then the next, and so on. */
export function gauge(...parts: readonly (readonly [samples: number, value: number])[]): string {
  return parts.map(([samples, value]) => `${value}+0x${samples - 1}`).join(' ');
}
