/**
 * The parts of a policy, one line each. The type and the schema of a policy, OpenAPI, validation, the order of stages,
 * warnings, errors, secrets, explain and the reference follow from this array. Its order is that of the documents, and
 * of stages within a phase (pipeline.ts).
 */
import { Type, type Static, type TProperties } from 'typebox';
import { closed, nullable } from '../model/schema-pieces.ts';
import { AUTH } from './parts/auth/part.ts';
import { BODY_PACE } from './parts/body-pace/part.ts';
import { BODY_SIZE } from './parts/body-size/part.ts';
import { CONCURRENCY } from './parts/concurrency/part.ts';
import { CORS } from './parts/cors/part.ts';
import { IP_ACCESS } from './parts/ip-access/part.ts';
import { HEADERS } from './parts/headers/part.ts';
import { GRPC_WEB } from './parts/grpc-web/part.ts';
import { METHODS } from './parts/methods/part.ts';
import { RATE_LIMIT } from './parts/rate-limit/part.ts';
import { REQUEST_BUFFER } from './parts/request-buffer/part.ts';
import { RETRIES } from './parts/retries/part.ts';
import { SCOPES } from './parts/scopes/part.ts';
import { shadowPart } from './parts/shadow/part.ts';
import { TIMEOUTS } from './parts/timeouts/part.ts';
import type { PolicyPart } from './part.ts';
import { stageNames } from './pipeline.ts';

const APPLIED = [
  AUTH,
  SCOPES,
  METHODS,
  IP_ACCESS,
  CONCURRENCY,
  RATE_LIMIT,
  CORS,
  BODY_SIZE,
  REQUEST_BUFFER,
  BODY_PACE,
  TIMEOUTS,
  RETRIES,
  HEADERS,
  GRPC_WEB,
] as const;

type Applied = (typeof APPLIED)[number];
const SHADOW = shadowPart(APPLIED.filter(({ mayShadow }) => mayShadow) as PolicyPart<Applied['name']>[]);

type Part = Applied | typeof SHADOW;
export type PartName = Part['name'];

/** A policy as it is written: each part, or null to inherit it. */
export type Policy = { -readonly [P in Part as P['name']]?: Static<P['schema']> | null };

export const PARTS: readonly PolicyPart<PartName>[] = [...APPLIED, SHADOW];

/** The top-level keys of a policy; merging works on these and on nothing smaller. */
export const PART_NAMES: readonly PartName[] = PARTS.map(({ name }) => name);

/** The parts that a policy may name in `shadow`. */
export const SHADOW_PART_NAMES: readonly PartName[] = PARTS.filter(({ mayShadow }) => mayShadow).map(
  ({ name }) => name,
);

/** The stages that a policy may have, in the order in which they run. */
export const STAGE_NAMES: readonly string[] = stageNames(PARTS);

/** The part that declares a stage. */
export function partOfStage(stage: string): PolicyPart<PartName> | undefined {
  return PARTS.find(({ stages }) => stages?.some(({ name }) => name === stage));
}

export const PolicySchema = Type.Unsafe<Policy>(policySchema(PARTS));

/** The schema of a policy that consists of these parts. */
export function policySchema(parts: readonly PolicyPart[]) {
  const properties: TProperties = {};
  for (const { name, schema } of parts) properties[name] = Type.Optional(nullable(schema));
  return Type.Object(properties, {
    ...closed,
    title: 'Policy',
    description: 'Rules for requests. A part that is absent or null is inherited from the next wider level.',
  });
}
