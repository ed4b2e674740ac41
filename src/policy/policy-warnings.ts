/** Warnings about policies: the whole table, and the walk over the rules of the parts. */
import type { EffectivePolicy } from '../model/policy.ts';
import type { AppName, Endpoint } from '../model/resources.ts';
import { RECORD_WARNINGS, warningOf, type Warning, type WarningRow } from '../model/warnings.ts';
import type { WarningFacts } from './part.ts';
import { PARTS } from './registry.ts';

/** Warnings about policies first, then about records. */
export const WARNINGS: Readonly<Record<string, WarningRow>> = {
  ...Object.fromEntries(
    PARTS.flatMap(({ warnings = [] }) =>
      warnings.map(({ code, title, advice }) => [code, { title, advice }]),
    ),
  ),
  ...RECORD_WARNINGS,
};

export interface PolicyView {
  readonly app: AppName;
  readonly endpoint: Endpoint | undefined;
  readonly effective: EffectivePolicy;
  /** Whether to report the warnings of a part. */
  readonly isOwn: (part: string) => boolean;
  /** Pointer of the policy, e.g. `/default_policy`. */
  readonly pointer: string;
}

/** The warnings of the parts about the policy in force at one level, limited to what that level itself sets. */
export async function warningsOfPolicy(view: PolicyView, facts: WarningFacts): Promise<Warning[]> {
  const found: Warning[] = [];
  const { app, endpoint, effective, isOwn, pointer } = view;
  for (const { name, warnings = [] } of PARTS) {
    const value = effective.policy[name];
    if (value === undefined || value === null) continue;
    const ofPart = {
      app,
      endpoint,
      effective,
      isOwn: isOwn(name),
      isOwnPart: isOwn,
      pointer: `${pointer}/${name}`,
      policyPointer: pointer,
    };
    for (const rule of warnings) {
      for (const each of await rule.find(value, ofPart, facts)) {
        found.push(warningOf(rule, each.pointer, each.what));
      }
    }
  }
  return found;
}
