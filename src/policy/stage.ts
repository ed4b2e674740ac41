/**
 * The single function type of policy evaluation. A stage reads the facts of a request and lets it continue or denies
 * it; the proxy, explain and shadow mode all call the same stages through evaluate.ts. Stages send nothing and know
 * no sockets. Besides its stages a compiled policy has the data that the engine reads.
 */
import type { CallerKind } from '../model/auth/caller-kinds.ts';
import type { ErrorCode } from '../model/errors.ts';
import type { Reason } from '../model/reason.ts';
import type { EffectivePolicy } from '../model/policy.ts';
import type { RateLimitPolicy } from '../model/rate-limit.ts';
import type { ConcurrencyStore } from '../limits/concurrency.ts';
import type { LimitDecision, LimitKind } from '../limits/store.ts';
import type { RetryCondition } from './parts/retries/schema.ts';

export type { RetryCondition };

/** What a stage may know about the request. */
export interface RequestFacts {
  readonly method: string;
  /** Canonical path, without the query. */
  readonly path: string;
  /** Address of the client, as trusted proxies report it; in canonical form. */
  readonly clientIp: string;
  /** Length of the body as the head announces it; -1 without a body, and for a chunked one. */
  readonly announcedBytes: number;
  /** Wall clock at the start of the exchange, Unix milliseconds. */
  readonly nowMs: number;
  /** The TLS connection that it came on; undefined without TLS. */
  readonly clientTls: ClientTls | undefined;
  /** Whether the client has gone, so that nothing needs the decision any more. */
  readonly ended: boolean;
  /** First field value of a lower-case name. */
  header(lowerName: string): string | undefined;
  /** All field values of a lower-case name, joined with ", ". */
  combined(lowerName: string): string | undefined;
}

/** The facts of a client's TLS handshake; one object for all requests of the connection. */
export interface ClientTls {
  /** As the client sent it (RFC 6066 section 3), in lower case; '' without one. */
  readonly serverName: string;
  /** Names of the trusted certificates (`auth.mtls.ca`) for which the client was asked for a certificate. */
  readonly askedFor: { has(ca: string): boolean };
  /** DER, the client's own first; empty: it has presented none. Only the possession of the client's key is verified. */
  readonly certificates: readonly Buffer[];
}

/** Who calls. */
export interface Caller {
  readonly kind: CallerKind;
  /** For counters per caller and for logs: key id, subject, or name of the caller of a certificate. */
  readonly id: string;
  readonly name: string;
  readonly scopes: ReadonlySet<string>;
  readonly claims: Readonly<Record<string, unknown>> | undefined;
  readonly keyRateLimit: RateLimitPolicy | null;
  /**
   * Header lines, each `Name: value` and CRLF, that identify the caller for the upstream; created once per key or
   * token.
   */
  readonly upstreamHeaderLines: string;
  /** Of an API key: where its use is counted (`UsageCounter`). */
  usagePlace: number;
}

export type Denial = Reason;

/** For explain. */
export interface SeenCertificate {
  /** RFC 4514; '' where it cannot be read. */
  readonly subject: string;
  /** SHA-256, lower-case hexadecimal; '' where it cannot be read. */
  readonly fingerprint: string;
  /** Unix milliseconds. */
  readonly expiresAtMs: number | undefined;
  /** Name of the trusted certificates. */
  readonly ca: string;
  /** Subject of the trusted certificate that it leads to; undefined: refused. */
  readonly trusted: string | undefined;
  /** Index of the rule that has named the caller; undefined: none did. */
  readonly rule: number | undefined;
}

/** What a part in shadow mode would have done; CORS denies through the browser, so it has no error code. */
export interface ShadowDenial {
  /** Name of the part. */
  readonly part: string;
  readonly denial: Reason<unknown, ErrorCode | 'cors_refused'>;
}

/** The results of an evaluation; one object per exchange, filled by the stages. */
export interface Evaluation {
  caller: Caller;
  /** True when the field with the credential (`CompiledPolicy.credentialPlace`) must not reach the upstream. */
  dropCredential: boolean;
  /** The decision of the most restrictive limiter that was asked, for the RateLimit fields. */
  limit: LimitDecision | undefined;
  /** The limiter that decided `limit`. */
  limiter: { readonly kind: LimitKind; readonly fieldsStart: string } | undefined;
  /**
   * True when both the limit per address and the limit of the route refuse; `limit` is the one with the longer wait.
   */
  bothLimitsRefuse: boolean;
  /** Id of an API key that was sent but is not valid here: disabled, expired or of another app; '' otherwise. */
  refusedKeyId: string;
  refusedKeyName: string;
  /** The client certificate that a policy has checked; undefined when none has. */
  certificate: SeenCertificate | undefined;
  /** Why the credential of the request is not valid, where optional authentication let the request pass. */
  authFailure: Denial | undefined;
  /** The store of `permit`, held under a concurrency limit; undefined when the request holds none. */
  permitStore: ConcurrencyStore | undefined;
  permit: number;
  /** Name of the stage that denied the request. */
  deniedBy: string | undefined;
  /** Parts in shadow mode that would have denied. */
  shadowDenials: ShadowDenial[] | undefined;
}

export type StageResult = Denial | undefined;
export type Stage = (facts: RequestFacts, evaluation: Evaluation) => StageResult | Promise<StageResult>;

export interface NamedStage {
  /** The name that the part declares; mostly that of the part. */
  readonly part: string;
  readonly run: Stage;
  /** A denial is recorded and not obeyed. */
  readonly shadow: boolean;
}

export interface CompiledCors {
  /** Header lines for an actual response to this Origin (undefined: no Origin sent); '' when nothing applies. */
  responseLines(origin: string | undefined): string;
  /** Header lines of the 204 that answers a preflight. */
  preflightLines(origin: string, requestMethod: string, requestHeaders: string | undefined): string;
}

/** Milliseconds; undefined where the settings apply, and without a total limit. */
export interface CompiledTimeouts {
  readonly connectMs: number | undefined;
  readonly firstByteMs: number | undefined;
  readonly idleMs: number | undefined;
  readonly totalMs: number | undefined;
}

export interface CompiledRetries {
  /** Attempts beyond the first. */
  readonly max: number;
  readonly on: ReadonlySet<RetryCondition>;
}

/** The sources of values that are written into fields. */
export interface FieldSubject extends RequestFacts {
  readonly requestId: string;
  readonly evaluation: Evaluation;
  /** Like `combined`, but undefined for a field that `Connection` nominates: the backend does not get it either. */
  combinedPassing(lowerName: string): string | undefined;
  /** The segment of the canonical path that matches a `{name}` of the endpoint, percent-encoded. */
  pathParameter(name: string): string | undefined;
}

/** Edits the fields of a message while they are written. */
export interface FieldEditor {
  /**
   * Called for each field that would be forwarded. Returns its new name; undefined: unchanged; '': the field is
   * dropped.
   */
  nameOf(name: string): string | undefined;
  /** Lines to add, each `Name: value\r\n`. Nothing from outside may end a line early. */
  lines(subject: FieldSubject): string;
}

/** Where a route's credential is, if it is in a field other than `Authorization`. */
export interface CredentialPlace {
  /** As it is configured. */
  readonly name: string;
  readonly lowerName: string;
  /** As `foldedName` returns it: no field that may be read as the credential's is forwarded beside it. */
  readonly foldedName: string;
}

/** Data of policy parts for the engine; `NO_DATA` in compile-policy.ts has the defaults. */
export interface PolicyData {
  readonly cors: CompiledCors | undefined;
  /** 0: the global setting alone applies. */
  readonly maxBodyBytes: number;
  /** The same in shadow mode: a longer body is only recorded. 0: none. */
  readonly shadowBodyBytes: number;
  /** Bytes of a request body to wait for before the request is sent to the backend; 0: the body is streamed. */
  readonly bufferRequestBytes: number;
  /** Calls of gRPC-Web go to the backend as calls of gRPC. */
  readonly translatesGrpcWeb: boolean;
  /** Minimum pace of a request body, 0 for none; undefined: the setting applies. */
  readonly minBodyBytesPerSec: number | undefined;
  /**
   * Names of request fields that the gateway alone sets on this route (`claims_to_headers`), as `foldedName` gives
   * them: the client's fields of these names, read the same way, must not reach the upstream, in the head or in
   * trailers.
   */
  readonly managedHeaders: ReadonlySet<string> | undefined;
  /** undefined: Authorization. */
  readonly credentialPlace: CredentialPlace | undefined;
  /** Folded names of fields that no trailer may have: `managedHeaders`, and the place of the credential. */
  readonly withheldTrailers: ReadonlySet<string> | undefined;
  /** False: an API key of this gateway does not reach the backend, even if this route does not use API keys. */
  readonly forwardsApiKeys: boolean;
  /** undefined: the settings apply. */
  readonly timeouts: CompiledTimeouts | undefined;
  readonly retries: CompiledRetries;
}

export interface CompiledPolicy extends PolicyData {
  readonly effective: EffectivePolicy;
  /** In order; a part that the route does not use has no stage. */
  readonly stages: readonly NamedStage[];
  /** Edits of the fields that the backend gets; undefined: none. */
  readonly requestFields: FieldEditor | undefined;
  /** Edits of the fields of the backend's response that the client gets; undefined: none. */
  readonly responseFields: FieldEditor | undefined;
}
