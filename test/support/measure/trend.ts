/**
 * How fast a noisy quantity grows: least squares, with a confidence interval that knows that neighbouring samples of
 * memory are alike (lag-1 autocorrelation of the residuals shortens the sample), which the usual formula does not.
 */

export interface Sample {
  readonly atMs: number;
  readonly value: number;
}

export interface Trend {
  /** Growth of the value in an hour. */
  readonly perHour: number;
  /** Half the width of the 95 % confidence interval, in the same unit. */
  readonly halfWidth: number;
}

const HOUR_MS = 3_600_000;
/** Of a normal distribution; samples are dozens. */
const Z_95 = 1.96;

/** Throws when there are fewer than three samples, or all are of one moment. */
export function trendOf(samples: readonly Sample[]): Trend {
  const count = samples.length;
  const hours = samples.map(({ atMs }) => atMs / HOUR_MS);
  const values = samples.map(({ value }) => value);
  const [meanHour, meanValue] = [mean(hours), mean(values)];
  const spread = sum(hours.map((hour) => (hour - meanHour) ** 2));
  if (count < 3 || spread === 0) throw new Error(`Cannot tell a trend from ${count} samples`);
  const perHour =
    sum(hours.map((hour, index) => (hour - meanHour) * ((values[index] ?? 0) - meanValue))) / spread;
  const residuals = values.map(
    (value, index) => value - meanValue - perHour * ((hours[index] ?? 0) - meanHour),
  );
  const squares = sum(residuals.map((residual) => residual ** 2));
  const products = sum(residuals.slice(1).map((residual, index) => residual * (residuals[index] ?? 0)));
  const alike = squares === 0 ? 0 : Math.min(0.99, Math.max(0, products / squares));
  const inflation = (1 + alike) / (1 - alike);
  return { perHour, halfWidth: Z_95 * Math.sqrt((squares / (count - 2) / spread) * inflation) };
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
const mean = (values: readonly number[]): number => sum(values) / values.length;
