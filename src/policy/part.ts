/**
 * The definition of a policy part: everything that the gateway knows about one top-level key. Each part has a folder
 * in parts/ and a line in registry.ts; all other code uses the registry. CONTRIBUTING.md says how to add one.
 *
 * A part never imports the registry. It reads another part only through that part's schema or helper.
 */
import type { Static, TSchema } from 'typebox';
import type { FieldError, PartError } from '../model/errors.ts';
import type { EffectivePolicy, MaskedPlace, PolicyValues } from '../model/policy.ts';
import type { AppName, Endpoint, Revision } from '../model/resources.ts';
import type { Warning, WarningRow } from '../model/warnings.ts';
import type { JwtDefaults } from '../model/auth/jwt-defaults.ts';
import type { PolicyDependencies, RateLimitGlobals } from './dependencies.ts';
import type { PartExplain } from './part-explain.ts';
import type { PartOfKeys, PartOfSettings, TrustedFiles } from './records/part-records.ts';
import type { StageDeclaration } from './pipeline.ts';
import type { FieldEditor, NamedStage, PolicyData } from './stage.ts';

export interface PolicyPart<
  Name extends string = string,
  Schema extends TSchema = TSchema,
  Shared = unknown,
  Prepared = unknown,
> {
  /** The top-level key of a policy. */
  readonly name: Name;
  /**
   * Schema of a value, never null. Types, OpenAPI, validation and the reference follow from it: every field has a
   * description and, where there is one, a default. `writeOnly: true` marks a secret, which is stored sealed and
   * served masked.
   */
  readonly schema: Schema;
  /** Places inside the value that are served masked like a secret, and stored unencrypted. */
  readonly masked?: readonly MaskedPlace[];
  readonly docs: PartDocs;
  /** The value that switches an inherited part off; absent where no value does. */
  readonly off?: PartOff<Static<Schema>>;
  /** Whether a policy may name the part in `shadow`: its stages run, and their denials are counted but not obeyed. */
  readonly mayShadow: boolean;
  /** Stages that `compile` may contribute, in their order within a phase; absent: none. */
  readonly stages?: readonly StageDeclaration[];
  /** Errors that this part adds to the table; its denials have their codes. */
  readonly errors?: readonly PartError[];
  /** Warnings about values of the part. */
  readonly warnings?: readonly WarningRule<Static<Schema>>[];
  readonly explain?: PartExplain<Static<Schema>, NoInfer<Prepared>>;
  /** Rules that the schema cannot express. Pure; gets the policy of one level. */
  rules?(value: Static<Schema>, context: RulesContext): readonly FieldError[];
  readonly settings?: PartOfSettings<Static<Schema>>;
  readonly keys?: PartOfKeys<Static<Schema>>;
  /** A warning about a revision because of the part in force; returns a row of model/warnings.ts. */
  revisionWarnings?(value: Static<Schema> | undefined, revision: Revision): readonly Warning[];
  /** The files with which the part verifies client certificates. */
  trustedFiles?(value: Static<Schema>): TrustedFiles | undefined;
  /** The part keeps requests out, so a policy that is imported without it protects less. */
  readonly isProtective?: true;
  /**
   * The depth inside the value at which an import may leave out a single element and keep the rest; absent: the rest
   * would mean something else without it.
   */
  readonly entryDepth?: number;
  /** True where the part applies although no level has it. */
  isImplied?(policy: PolicyValues, globals: RateLimitGlobals | undefined): boolean;
  /** True where the value also affects answers without a route, such as 404; absent: it never does. */
  marksUnmatched?(value: Static<Schema>): boolean;
  /** What is costly to make of a value; `compile` and `explain` get it. */
  readonly prepared?: PreparedValue<Static<Schema>, Prepared>;
  /**
   * What all policies of a worker share, such as a cache.
   * @param original for policies that only read, so that explain changes nothing: what the real policies share
   */
  share?(dependencies: PolicyDependencies, original: Shared | undefined): Shared;
  /**
   * Everything that does not depend on a request is computed here, once per distinct policy.
   * @param value undefined where no level has the part
   * @returns undefined where the part does nothing on this route, which then costs nothing
   * @throws Error with a plain message when the value cannot be used with the settings
   */
  compile(
    value: Static<Schema> | undefined,
    context: CompileContext<Shared, Prepared>,
  ): PartContribution | undefined;
}

/** Made once for all routes that inherit the value, and kept as long as the value. */
interface PreparedValue<Value, Prepared> {
  /** What `make` depends on besides the value, as text; absent: on nothing. */
  variantOf?(effective: EffectivePolicy): string;
  /** Pure. */
  make(value: Value, variant: string): Prepared;
}

/** Keeps the name and the schema of a part in its type. */
export function definePart<
  const Name extends string,
  Schema extends TSchema,
  Shared = undefined,
  Prepared = undefined,
>(part: PolicyPart<Name, Schema, Shared, Prepared>): PolicyPart<Name, Schema, Shared, Prepared> {
  return Object.freeze(part);
}

export interface CompileContext<Shared, Prepared = undefined> {
  readonly effective: EffectivePolicy;
  readonly app: AppName;
  readonly dependencies: PolicyDependencies;
  readonly shared: Shared;
  /** undefined where no level has the part. */
  readonly prepared: Prepared | undefined;
  /** The policy names the part in `shadow`. */
  readonly inShadow: boolean;
}

export interface PartContribution {
  /** Each by the name of a declared stage. */
  readonly stages?: readonly NamedStage[];
  /** Data for the engine; no two parts provide the same field. */
  readonly data?: Partial<PolicyData>;
  /** Edits of the fields that the backend gets, and of those that the client gets; several parts may have some. */
  readonly requestFields?: FieldEditor;
  readonly responseFields?: FieldEditor;
}

interface PartOff<Value> {
  readonly example: Value;
  /** What applies instead, in a few words; absent: nothing. */
  readonly note?: string;
  is(value: Value): boolean;
}

export interface PartDocs {
  /** A few words for the table of parts. */
  readonly summary: string;
  /** A value, as the reference shows it. */
  readonly example: unknown;
  /**
   * Markdown that follows the example in docs/reference/policies.md: what the fields and their descriptions do not say.
   * Links are relative to docs/reference/.
   */
  readonly text?: string;
  /**
   * For the table of `shadow`: what happens to a request, and what is recorded. Default: it passes, and what would have
   * been denied is recorded.
   */
  readonly inShadow?: { readonly request: string; readonly noted: string };
}

export interface RulesContext {
  /** The whole policy of the level. */
  readonly policy: PolicyValues;
  /** RFC 6901 pointer of the value, such as `/default_policy/auth`. */
  readonly pointer: string;
  readonly globals: RateLimitGlobals | undefined;
  /** Names of the parameters in the endpoint's path; undefined on other levels. */
  readonly endpointParameters?: readonly string[];
  /** Why the gateway may not connect, as far as this depends on the host; undefined when it may. */
  readonly hostDenial?: (host: string, port: number) => string | undefined;
}

/** A check of the policy in force at one level; reports only what that level itself sets. */
export interface WarningRule<Value> extends WarningRow {
  /** Stable; two rules may have the same one. */
  readonly code: string;
  /** Called where any level has the part. */
  find(
    value: Value,
    view: WarningView,
    facts: WarningFacts,
  ): readonly FoundWarning[] | Promise<readonly FoundWarning[]>;
}

interface WarningView {
  readonly app: AppName;
  readonly endpoint: Endpoint | undefined;
  readonly effective: EffectivePolicy;
  /** Whether the level itself sets the part. */
  readonly isOwn: boolean;
  readonly isOwnPart: (part: string) => boolean;
  /** RFC 6901 pointer of the part, such as `/default_policy/auth`. */
  readonly pointer: string;
  /** The pointer to the whole policy. */
  readonly policyPointer: string;
}

export interface WarningFacts {
  readonly jwtDefaults: JwtDefaults;
  readonly policyGlobals: RateLimitGlobals | undefined;
  /** undefined: not known here. */
  readonly trusted: TrustFacts | undefined;
  /** undefined when there are too many keys to check. */
  someKeyHasScopes(appId: string, scopes: readonly string[]): Promise<boolean | undefined>;
}

/** The node's facts about the certificates that client certificates are verified with. */
export interface TrustFacts {
  names(): readonly string[];
  /** In words; undefined: none. */
  problemOf(name: string): string | undefined;
  /** Whether the traffic listener speaks TLS. */
  hasTls(): boolean;
}

export interface FoundWarning {
  /** RFC 6901 pointer into the record. */
  readonly pointer: string;
  /** The situation, with names; the advice of the rule follows. */
  readonly what: string;
}
