/**
 * One operation of the management API as data: input, role, answer and handler. server.ts serves the list of
 * operations and openapi.ts documents it, so that the two cannot differ.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { ErrorCode } from '../../model/errors.ts';
import type { AdminRole } from '../../model/resources.ts';
import type { JsonSchema } from '../../model/json-schema.ts';
import type { Actor } from '../access/admin-auth.ts';
import type { LastingCall } from '../access/lasting-call.ts';
import type { Admission } from './admission.ts';
import type { Answer, Failure } from './failure.ts';
import type { Query } from './query.ts';
import type { WriteNote } from '../write/write-note.ts';

export const API_PREFIX = '/api/v1';
export const JSON_TYPE = 'application/json';
export const MERGE_PATCH_TYPE = 'application/merge-patch+json';

export interface Call extends WriteNote {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** Has passed the operation's body schema; undefined when an optional body was not sent. */
  readonly body: unknown;
  /** The authenticated caller; for public operations `ANONYMOUS`. */
  readonly actor: Actor;
  /** The client's address in canonical form. */
  readonly address: string;
  readonly requestId: string;
  readonly headers: IncomingHttpHeaders;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  /** Set for an answer that may continue; absent for a call within another one. */
  readonly lasting?: LastingCall;
}

export interface OperationBody {
  readonly schema: JsonSchema;
  readonly required: boolean;
  readonly mergePatch: boolean;
  /** A masked secret in the body stands for the stored secret. */
  readonly keepsMaskedSecrets?: true;
  /** Fields that only the gateway sets: a body must not contain them. */
  readonly readOnly?: ReadonlySet<string>;
  readonly example?: unknown;
}

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The whole path, with `{name}` for parameters. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly access: 'public' | AdminRole;
  readonly query: JsonSchema;
  readonly body?: OperationBody;
  /** Limit of the body in bytes, when it is larger than usual. */
  readonly bodyBytesMax?: number;
  /** Limits the calls that run at once; absent: there is no limit. */
  readonly admission?: Admission;
  /** Replaces `admission` for callers with the role `viewer`. */
  readonly viewerAdmission?: Admission;
  /** Honours If-Match (writes) or If-None-Match (reads) and sends ETag. */
  readonly entityTag: boolean;
  /**
   * A write of the configuration: it accepts the headers of a write note, and its answer has the number of
   * gateways that have applied it.
   */
  readonly isWrite?: true;
  readonly success: {
    readonly status: 200 | 201 | 204;
    readonly description: string;
    readonly schema?: JsonSchema;
    readonly contentType?: string;
    readonly example?: unknown;
  };
  /** For probes and health: the condition under which the answer is 503 in the form of a success. */
  readonly degraded?: string;
  /** Errors in addition to those that follow from the fields above. */
  readonly failures: readonly ErrorCode[];
  readonly handle: (call: Call) => Promise<Answer | Failure>;
}
