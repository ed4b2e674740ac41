/** The days of a chart of requests, each with its bar in parts. Pure. */
import type { TokenUsageDay } from '../../api/schema.ts';

interface UsageBar extends TokenUsageDay {
  /** Parts of the height of the chart, 0 to 1, from the ground up. */
  readonly parts: readonly { readonly kind: UsageKind; readonly from: number; readonly to: number }[];
}

export const USAGE_KINDS = ['allowed', 'limited', 'denied'] as const;
type UsageKind = (typeof USAGE_KINDS)[number];

export interface UsageBars {
  readonly bars: readonly UsageBar[];
  /** Requests of the day with the most. */
  readonly most: number;
  readonly mostDate: string;
}

const DAY_MS = 86_400_000;

/** The UTC day that lies `days` - 1 days before another, as the API names days. */
export function firstDay(days: number, nowMs: number): string {
  return dateOf(nowMs - (days - 1) * DAY_MS);
}

/**
 * @param from first day, `YYYY-MM-DD`
 * @param to last day, with which the chart ends
 * @param days those with requests, in any order
 */
export function usageBars(from: string, to: string, days: readonly TokenUsageDay[]): UsageBars {
  const known = new Map(days.map((day) => [day.date, day]));
  const all: TokenUsageDay[] = [];
  for (let ms = Date.parse(from); ms <= Date.parse(to); ms += DAY_MS) {
    const date = dateOf(ms);
    all.push(known.get(date) ?? { date, allowed: 0, limited: 0, denied: 0 });
  }
  const most = Math.max(0, ...all.map(total));
  const mostDate = all.find((day) => total(day) === most)?.date ?? to;
  return { bars: all.map((day) => ({ ...day, parts: partsOf(day, most) })), most, mostDate };
}

function partsOf(day: TokenUsageDay, most: number): UsageBar['parts'] {
  let from = 0;
  return USAGE_KINDS.filter((kind) => day[kind] > 0).map((kind) => {
    const part = { kind, from, to: from + day[kind] / most };
    from = part.to;
    return part;
  });
}

const total = ({ allowed, limited, denied }: TokenUsageDay): number => allowed + limited + denied;

const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
