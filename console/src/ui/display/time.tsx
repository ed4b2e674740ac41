/** Times in the reader's zone, with UTC in the title; durations and numbers for people. */
import { useEffect, useState, type ReactNode } from 'react';
import { relativeTime } from './relative-time.ts';

const EXACT = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });

interface TimeProps {
  /** RFC 3339, or milliseconds since 1970. */
  readonly at: string | number;
  /**
   * `ago`: it is in the past; `either`: it may also be in the future, such as an expiry. Without it the time
   * itself is shown.
   */
  readonly relative?: 'ago' | 'either';
}

export function Time({ at, relative }: TimeProps): ReactNode {
  const date = new Date(at);
  const nowMs = useNow(relative !== undefined);
  if (Number.isNaN(date.getTime())) return String(at);
  return (
    <time dateTime={date.toISOString()} title={`${date.toISOString()} (UTC)`}>
      {relative === undefined
        ? EXACT.format(date)
        : relativeTime(date.getTime(), nowMs, relative === 'either')}
    </time>
  );
}

const REFRESH_MS = 10_000;

/** The present time, read again every ten seconds while `isOn`. */
export function useNow(isOn: boolean): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setInterval(() => setNowMs(Date.now()), REFRESH_MS);
    return () => clearInterval(timer);
  }, [isOn]);
  return nowMs;
}

const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat('en', { maximumSignificantDigits: 3, notation: 'compact' });

export function formatNumber(value: number): string {
  return Math.abs(value) < 10_000 ? WHOLE.format(value) : SHORT.format(value);
}

/** Milliseconds, with as many digits as say something. */
export function formatMs(ms: number): string {
  if (ms === 0) return '0 ms';
  if (ms < 0.01) return '< 0.01 ms';
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(2)} s` : formatSecs(Math.round(ms / 1_000));
}

const LONG_UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** Whole seconds in the units that people count in, exactly: `41 min 21 s`. Below two minutes in seconds. */
export function formatSecs(secs: number): string {
  if (secs < 120) return `${secs} s`;
  let rest = secs;
  const parts = LONG_UNITS.map(([unit, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count === 0 ? '' : `${count} ${unit}`;
  });
  return parts.filter((part) => part !== '').join(' ');
}

export function formatShare(share: number): string {
  if (share === 0) return '0 %';
  if (share < 0.0001) return '< 0.01 %';
  const percent = share * 100;
  return `${percent < 1 ? percent.toFixed(2) : percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}
