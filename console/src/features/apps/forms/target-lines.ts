/**
 * The targets of a revision as text: one per line, `host:port`, optionally followed by `weight=50` and `zone=eu-1a`.
 * Unreadable lines are sent to the API unchanged, which says what is wrong. Pure.
 */
import { shownPlace } from '../parts/shown-place.ts';

export interface TypedTarget {
  readonly host: string;
  readonly port?: number;
  readonly weight?: number;
  readonly zone?: string;
}

const WEIGHT_DEFAULT = 100;
/** `[::1]:8080`, `host:8080`, `host`. */
const PLACE = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/;

export function targetLines(targets: readonly TypedTarget[]): string {
  return targets
    .map(({ host, port, weight = WEIGHT_DEFAULT, zone }) => {
      const parts = [shownPlace(host, port)];
      if (weight !== WEIGHT_DEFAULT) parts.push(`weight=${weight}`);
      if (zone !== undefined) parts.push(`zone=${zone}`);
      return parts.join(' ');
    })
    .join('\n');
}

/** null: no line is left. */
export function readTargets(text: string): readonly TypedTarget[] | null {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return lines.length === 0 ? null : lines.map(readTarget);
}

function readTarget(line: string): TypedTarget {
  const [place = '', ...rest] = line.split(/\s+/);
  const [, address, name, port] = PLACE.exec(place) ?? [];
  const options = Object.fromEntries(rest.map((part) => part.split('=', 2) as [string, string?]));
  const { weight, zone, ...unknown } = options as Readonly<Record<string, string | undefined>>;
  const typed: Record<string, unknown> = { ...unknown, host: address ?? name ?? place };
  if (port !== undefined) typed['port'] = Number(port);
  if (weight !== undefined) typed['weight'] = /^\d+$/.test(weight) ? Number(weight) : weight;
  if (zone !== undefined) typed['zone'] = zone;
  return typed as unknown as TypedTarget;
}
