/**
 * Compiles an effective policy: asks each part of the registry for its stages and its data, and puts the stages in the
 * order of the pipeline. A part that a route does not use has no stage and costs it nothing; everything that does not
 * depend on the request is computed here.
 */
import type { EffectivePolicy } from '../model/policy.ts';
import type { AppName } from '../model/resources.ts';
import type { PolicyCompiler } from '../config/types.ts';
import type { PolicyDependencies } from './dependencies.ts';
import { combinedEditor } from './field-editors.ts';
import type { PartContribution, PolicyPart } from './part.ts';
import { DEFAULT_RETRIES } from './parts/retries/part.ts';
import { stageNames } from './pipeline.ts';
import { preparedOf } from './prepared.ts';
import { readOnlyDependencies, type CounterReads } from './trial/read-only-context.ts';
import { PARTS } from './registry.ts';
import type { CompiledPolicy, FieldEditor, NamedStage, PolicyData } from './stage.ts';

/** The data for the engine when no part provides any. */
const NO_DATA: PolicyData = Object.freeze({
  cors: undefined,
  maxBodyBytes: 0,
  shadowBodyBytes: 0,
  bufferRequestBytes: 0,
  translatesGrpcWeb: false,
  minBodyBytesPerSec: undefined,
  managedHeaders: undefined,
  credentialPlace: undefined,
  withheldTrailers: undefined,
  forwardsApiKeys: false,
  timeouts: undefined,
  retries: DEFAULT_RETRIES,
});

/**
 * @returns a compiler whose policies share one cache of keys, tokens and key sets. It throws an `Error` with a
 *   plain message when a part cannot be used with the settings.
 */
export function createPolicyCompiler(
  dependencies: PolicyDependencies,
  parts: readonly PolicyPart[] = PARTS,
): PolicyCompiler<CompiledPolicy> {
  return createPolicyCompilers(dependencies, parts).compile;
}

export interface PolicyCompilers {
  readonly compile: PolicyCompiler<CompiledPolicy>;
  /**
   * The same policies with the same decisions, which only read: they count, take and report nothing, and record
   * in `reads` which counters they asked. They use the verified tokens and key sets of `compile`.
   */
  readOnly(reads: CounterReads): (effective: EffectivePolicy, app: AppName) => CompiledPolicy;
}

/** @returns compilers as `createPolicyCompiler` describes */
export function createPolicyCompilers(
  dependencies: PolicyDependencies,
  parts: readonly PolicyPart[] = PARTS,
): PolicyCompilers {
  const ordered = new Map(stageNames(parts).map((name, index) => [name, index]));
  const compilerFor = (own: PolicyDependencies, shared: readonly unknown[]) => {
    return (effective: EffectivePolicy, app: AppName) => {
      const given = parts.map((part, index) => {
        const inShadow = isShadow(effective, part.name);
        const prepared = preparedOf(part, effective);
        const context = { effective, app, dependencies: own, shared: shared[index], prepared, inShadow };
        return part.compile(effective.policy[part.name] ?? undefined, context);
      });
      return compiledPolicy(effective, given, ordered);
    };
  };
  const shared = parts.map((part) => part.share?.(dependencies, undefined));
  return Object.freeze({
    compile: Object.assign(compilerFor(dependencies, shared), {
      marksUnmatched: ({ policy }: EffectivePolicy) =>
        parts.some((part) => {
          const value = policy[part.name] ?? undefined;
          return value !== undefined && part.marksUnmatched?.(value) === true;
        }),
    }),
    readOnly: (reads: CounterReads) => {
      const own = readOnlyDependencies(dependencies, reads);
      return compilerFor(
        own,
        parts.map((part, index) => part.share?.(own, shared[index])),
      );
    },
  });
}

function compiledPolicy(
  effective: EffectivePolicy,
  contributions: readonly (PartContribution | undefined)[],
  order: ReadonlyMap<string, number>,
): CompiledPolicy {
  const stages: NamedStage[] = [];
  const data: PolicyData = { ...NO_DATA };
  const requestFields: FieldEditor[] = [];
  const responseFields: FieldEditor[] = [];
  for (const given of contributions) {
    if (given === undefined) continue;
    if (given.stages !== undefined) stages.push(...given.stages);
    if (given.data !== undefined) Object.assign(data, given.data);
    if (given.requestFields !== undefined) requestFields.push(given.requestFields);
    if (given.responseFields !== undefined) responseFields.push(given.responseFields);
  }
  stages.sort((a, b) => placeOf(order, a) - placeOf(order, b));
  return Object.freeze({
    ...data,
    effective,
    stages: Object.freeze(stages),
    requestFields: combinedEditor(requestFields),
    responseFields: combinedEditor(responseFields),
  });
}

function placeOf(order: ReadonlyMap<string, number>, { part }: NamedStage): number {
  const place = order.get(part);
  if (place === undefined) throw new Error(`Cannot place the stage "${part}": no part declares it`);
  return place;
}

function isShadow({ policy }: EffectivePolicy, part: string): boolean {
  return (policy['shadow'] as readonly string[] | null | undefined)?.includes(part) ?? false;
}
