/** Durations in Go's format: `1m30s`, `500ms`; a bare number means seconds. */
import type { SourceNode } from '../source.ts';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Whole milliseconds; undefined when there is no duration, or an invalid one, which is reported. */
export function durationMs(node: SourceNode, name: string): number | undefined {
  const text = node.text(name);
  if (text === undefined) return undefined;
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.round(Number(text) * 1_000);
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) {
    node.lost('is not a duration', undefined, name);
    return undefined;
  }
  let total = 0;
  for (const [, count, unit = ''] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g))
    total += Number(count) * (UNITS[unit] ?? 0);
  return Math.round(total);
}
