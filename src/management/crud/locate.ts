/** Shared by the operations of all resources: finding the record of a path, its place, its envelope, its fields. */
import { envelopeSchema } from '../schemas/envelope.ts';
import { jsonSchema, type JsonSchema } from '../../model/json-schema.ts';
import type { ConfigReader } from '../../storage/repository.ts';
import type { ManagementContext } from '../context.ts';
import type { RuleContext } from '../write/rule-context.ts';
import { isFailure, type Failure } from '../api/failure.ts';
import { API_PREFIX, type Call } from '../api/operation.ts';
import type { Resource, StoredRecord } from './resource.ts';
import { unknownName } from './unknown-name.ts';

export interface Located<S, R> {
  readonly scope: S;
  readonly record: R;
}

/** The record that a path names, with its parents, or 404. */
export async function locate<S extends object, I, R extends StoredRecord>(
  resource: Resource<S, I, R>,
  reader: ConfigReader,
  params: Call['params'],
): Promise<Located<S, R> | Failure> {
  const scope = await resource.scope(reader, params);
  if (isFailure(scope)) return scope;
  const reference = params[resource.parameter] ?? '';
  const record = await resource.find(reader, scope, reference);
  return record === undefined ? unknownName(resource, reader, scope, reference) : { scope, record };
}

export function itemPath(resource: { readonly collection: string; readonly parameter: string }): string {
  return `${API_PREFIX}${resource.collection}/{${resource.parameter}}`;
}

export function rulesOf(context: ManagementContext, reader: ConfigReader): RuleContext {
  const { clock, policyGlobals, jwtDefaults, egress, status } = context;
  return {
    reader,
    clock,
    policyGlobals,
    jwtDefaults,
    egress,
    certificateNames: () => status.certificateNames(),
    ordered: status.ownCertificates,
    clientCertificateNames: () => status.clientCertificateNames(),
    readsTargetFiles: status.readsTargetFiles,
    trusted: status.trusted,
  };
}

/** The singular with its article, for summaries of operations: `an app`. */
export function oneOf({ names }: { readonly names: readonly [string, string] }): string {
  const name = names[0].toLowerCase();
  return `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`;
}

/** The success envelope around a record of the resource. */
export function recordEnvelope({ schema }: { readonly schema: JsonSchema }): JsonSchema {
  return jsonSchema(envelopeSchema(`${schema.title ?? ''}Envelope`, schema));
}

/** Fields of answers that a body may not contain. */
export function readOnlyNames(
  resource: { readonly schema: JsonSchema; readonly createdSchema?: JsonSchema },
  body: JsonSchema,
): ReadonlySet<string> {
  const { schema, createdSchema } = resource;
  const shown = Object.keys((createdSchema ?? schema).properties ?? {});
  return new Set(shown.filter((name) => body.properties?.[name] === undefined));
}

/** A record without the fields that every record has, for audit entries. */
export function withoutBase(served: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { id: _id, created_at: _createdAt, updated_at: _updatedAt, ...rest } = served;
  return rest;
}
