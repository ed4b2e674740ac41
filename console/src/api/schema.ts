/**
 * The management API as types. Generated from its OpenAPI document by `npm run docs`; not to be edited.
 */

/** Codes that parts of a policy add, in the order of the parts. */
export const PART_ERROR_CODES = ["certificate_missing","certificate_invalid","misdirected_request","ip_denied"] as const;

export type ActivateInput = { readonly exclusive?: boolean | undefined };

export type AdminToken = { readonly id: string; readonly created_at: string; readonly updated_at: string; readonly name: string; readonly role: "admin" | "editor" | "viewer"; readonly token_prefix: string; readonly expires_at: string | null; readonly last_used_at: string | null };

export type AdminTokenEnvelope = { readonly status: number; readonly message: string; readonly data: AdminToken; readonly warnings?: readonly (Warning)[] | undefined };

export type AdminTokenInput = { readonly name: string; readonly role: "admin" | "editor" | "viewer"; readonly expires_at?: string | null | undefined };

export type AdminTokenList = { readonly status: number; readonly message: string; readonly data: readonly (AdminToken)[]; readonly page: Page };

export type App = { readonly id: string; readonly created_at: string; readonly updated_at: string; readonly name: string; readonly slug: string; readonly gateway_path: string; readonly hosts: readonly (string)[]; readonly routing_mode: "pass_through" | "managed_endpoint"; readonly default_policy: Policy | null; readonly description: string | null; readonly labels: Readonly<Record<string, string>>; readonly allow_encoded_slashes: boolean };

export type AppEnvelope = { readonly status: number; readonly message: string; readonly data: App; readonly warnings?: readonly (Warning)[] | undefined };

export type AppInput = { readonly name: string; readonly slug: string; readonly gateway_path: string; readonly hosts?: readonly (string)[] | undefined; readonly routing_mode?: "pass_through" | "managed_endpoint" | undefined; readonly default_policy?: Policy | null | undefined; readonly description?: string | null | undefined; readonly labels?: Readonly<Record<string, string>> | undefined; readonly allow_encoded_slashes?: boolean | undefined };

export type AppList = { readonly status: number; readonly message: string; readonly data: readonly (App)[]; readonly page: Page };

export type AppPatch = { readonly name?: string | null | undefined; readonly slug?: string | null | undefined; readonly gateway_path?: string | null | undefined; readonly hosts?: readonly (string)[] | null | undefined; readonly routing_mode?: "pass_through" | "managed_endpoint" | null | undefined; readonly default_policy?: PolicyPatch | null | undefined; readonly description?: string | null | undefined; readonly labels?: Readonly<Record<string, string | null>> | null | undefined; readonly allow_encoded_slashes?: boolean | null | undefined };

export type AuditEntry = { readonly id: string; readonly at: string; readonly actor: string; readonly action: string; readonly resource_type: string; readonly resource_id: string; readonly resource_name: string | null; readonly parents: Readonly<Record<string, string>> | null; readonly address: string | null; readonly request_id: string | null; readonly config_version: number; readonly change: Readonly<Record<string, unknown>> | null };

export type AuditEntryList = { readonly status: number; readonly message: string; readonly data: readonly (AuditEntry)[]; readonly page: Page };

export type BackendTls = { readonly verify?: boolean | undefined; readonly server_name?: string | undefined; readonly ca?: string | undefined; readonly client_certificate?: string | undefined; readonly pins?: readonly (string)[] | undefined };

export type BackendTlsPatch = { readonly verify?: boolean | null | undefined; readonly server_name?: string | null | undefined; readonly ca?: string | null | undefined; readonly client_certificate?: string | null | undefined; readonly pins?: readonly (string)[] | null | undefined };

export type BreakerCounts = { readonly closed: number; readonly half_open: number; readonly open: number };

export type BreakerEnvelope = { readonly status: number; readonly message: string; readonly data: BreakerState | null; readonly warnings?: readonly (Warning)[] | undefined };

export type BreakerState = { readonly state: "closed" | "open" | "half_open"; readonly consecutive_failures: number; readonly since_ms: number; readonly openings: number };

export type Certificate = { readonly name: string; readonly source: "file" | "acme"; readonly listener: "traffic" | "management" | "backends"; readonly state: "valid" | "expires_soon" | "expired" | "not_valid_yet" | "missing"; readonly valid_from: string | null; readonly expires_at: string | null; readonly order: "none" | "under_way" | "waiting"; readonly renew_at: string | null; readonly failures: number; readonly last_error: string | null; readonly failed_at: string | null; readonly next_try_at: string | null };

export type CertificateEnvelope = { readonly status: number; readonly message: string; readonly data: Certificate; readonly warnings?: readonly (Warning)[] | undefined };

export type CertificateList = { readonly status: number; readonly message: string; readonly data: readonly (Certificate)[]; readonly page: Page };

export type ChangeTotals = { readonly create: number; readonly update: number; readonly delete: number };

export type CircuitBreaker = { readonly failures?: number | undefined; readonly open_secs?: number | undefined; readonly count_5xx?: boolean | undefined; readonly recovery_secs?: number | undefined; readonly probe?: Probe | undefined };

export type CircuitBreakerPatch = { readonly failures?: number | null | undefined; readonly open_secs?: number | null | undefined; readonly count_5xx?: boolean | null | undefined; readonly recovery_secs?: number | null | undefined; readonly probe?: ProbePatch | null | undefined };

export type ConfigApplied = { readonly base_version: number; readonly totals: ChangeTotals; readonly changes: readonly (DeclaredChange)[]; readonly created_keys: readonly (CreatedKey)[] };

export type ConfigAppliedEnvelope = { readonly status: number; readonly message: string; readonly data: ConfigApplied; readonly warnings?: readonly (Warning)[] | undefined };

export type ConfigApply = { readonly config: Configuration; readonly adopt?: boolean | undefined; readonly prune?: boolean | undefined; readonly max_deletes?: number | undefined; readonly base_version?: number | undefined; readonly rebase?: boolean | undefined; readonly message?: string | undefined };

export type ConfigBisect = { readonly request: ExplainInput; readonly good?: number | undefined; readonly bad?: number | undefined; readonly expect?: { readonly outcome?: "forwarded" | "answered" | "denied" | "failed" | undefined; readonly status?: number | undefined; readonly code?: string | undefined } | undefined };

export type ConfigBisectEnvelope = { readonly status: number; readonly message: string; readonly data: ConfigBisectResult; readonly warnings?: readonly (Warning)[] | undefined };

export type ConfigBisectResult = { readonly config_version: number | null; readonly tried: number; readonly before: VersionOutcome | null; readonly after: VersionOutcome; readonly at: string | null; readonly actor: string | null; readonly source: string | null; readonly action: string | null; readonly message: string | null; readonly git_commit: string | null; readonly changes: readonly ({ readonly change: "create" | "update" | "delete"; readonly type: string; readonly id: string; readonly name: string; readonly parents: Readonly<Record<string, string>>; readonly fields: readonly (string)[] })[] };

export type ConfigDiff = { readonly from: number; readonly to: number; readonly totals: { readonly create: number; readonly update: number; readonly delete: number }; readonly changes: readonly (ListedChange)[]; readonly text: string | null };

export type ConfigDiffEnvelope = { readonly status: number; readonly message: string; readonly data: ConfigDiff; readonly warnings?: readonly (Warning)[] | undefined };

export type ConfigEnvelope = { readonly status: number; readonly message: string; readonly data: { readonly config_version: number; readonly config: unknown }; readonly warnings?: readonly (Warning)[] | undefined };

export type ConfigFile = { readonly path: string | null; readonly state: string; readonly loaded_at: string | null; readonly problem_since: string | null; readonly problem_count: number; readonly problems: readonly (ConfigFileProblem)[] };

export type ConfigFileEnvelope = { readonly status: number; readonly message: string; readonly data: ConfigFile; readonly warnings?: readonly (Warning)[] | undefined };

export type ConfigFileProblem = { readonly file: string; readonly line: number; readonly column: number; readonly pointer: string; readonly detail: string };

export type ConfigPlan = { readonly config: Configuration; readonly adopt?: boolean | undefined; readonly prune?: boolean | undefined; readonly max_deletes?: number | undefined; readonly traffic?: boolean | undefined };

export type ConfigPlanEnvelope = { readonly status: number; readonly message: string; readonly data: ConfigPlanned; readonly warnings?: readonly (Warning)[] | undefined };

export type ConfigPlanned = { readonly base_version: number; readonly totals: ChangeTotals; readonly changes: readonly (DeclaredChange)[]; readonly traffic?: PlanTraffic | null | undefined };

export type ConfigVersion = { readonly config_version: number; readonly at: string; readonly actor: string; readonly address: string | null; readonly request_id: string | null; readonly source: string; readonly commit: string | null; readonly action: string; readonly message: string | null; readonly first_record: { readonly type: "app" | "version" | "revision" | "endpoint" | "key"; readonly path: readonly (string)[] } | null; readonly changed_records: number; readonly is_complete: boolean };

export type ConfigVersionEnvelope = { readonly status: number; readonly message: string; readonly data: ConfigVersionWithChanges; readonly page: Page };

export type ConfigVersionList = { readonly status: number; readonly message: string; readonly data: readonly (ConfigVersion)[]; readonly page: Page; readonly kept_from: number };

export type ConfigVersionWithChanges = { readonly config_version: number; readonly at: string; readonly actor: string; readonly address: string | null; readonly request_id: string | null; readonly source: string; readonly commit: string | null; readonly action: string; readonly message: string | null; readonly first_record: { readonly type: "app" | "version" | "revision" | "endpoint" | "key"; readonly path: readonly (string)[] } | null; readonly changed_records: number; readonly is_complete: boolean; readonly changes: readonly (RecordChange)[] };

export type Configuration = { readonly owner?: string | undefined; readonly apps?: Readonly<Record<string, DeclaredApp>> | undefined };

export type CreatedAdminToken = { readonly id: string; readonly created_at: string; readonly updated_at: string; readonly name: string; readonly role: "admin" | "editor" | "viewer"; readonly token_prefix: string; readonly expires_at: string | null; readonly last_used_at: string | null; readonly token: string };

export type CreatedAdminTokenEnvelope = { readonly status: number; readonly message: string; readonly data: CreatedAdminToken; readonly warnings?: readonly (Warning)[] | undefined };

export type CreatedDebugToken = { readonly id: string; readonly app_id: string | null; readonly created_at: string; readonly expires_at: string; readonly token: string };

export type CreatedDebugTokenEnvelope = { readonly status: number; readonly message: string; readonly data: CreatedDebugToken; readonly warnings?: readonly (Warning)[] | undefined };

export type CreatedKey = { readonly app: string; readonly name: string; readonly id: string; readonly token: string };

export type CreatedToken = { readonly id: string; readonly created_at: string; readonly updated_at: string; readonly app_id: string; readonly name: string; readonly scopes: readonly (string)[]; readonly token_prefix: string; readonly is_active: boolean; readonly expires_at: string | null; readonly previous_expires_at: string | null; readonly last_used_at: string | null; readonly rate_limit: RateLimit | null; readonly token: string };

export type CreatedTokenEnvelope = { readonly status: number; readonly message: string; readonly data: CreatedToken; readonly warnings?: readonly (Warning)[] | undefined };

export type CreatedWebhook = { readonly id: string; readonly created_at: string; readonly updated_at: string; readonly name: string; readonly url: string; readonly events: readonly (string)[]; readonly app_ids: readonly (string)[]; readonly is_active: boolean; readonly disabled_reason: string | null; readonly previous_secret_expires_at: string | null; readonly secret: string };

export type CreatedWebhookEnvelope = { readonly status: number; readonly message: string; readonly data: CreatedWebhook; readonly warnings?: readonly (Warning)[] | undefined };

export type CurrentProblem = { readonly severity: "critical" | "warning" | "info"; readonly code: "database_unavailable" | "database_unwritable" | "heartbeat_failing" | "serving_from_snapshot" | "snapshot_file_unwritable" | "config_file_refused" | "limit_store_unavailable" | "limit_store_full" | "workers_missing" | "worker_lost" | "files_replaced" | "node_missing" | "clock_differs" | "breaker_open" | "health_check_failing" | "no_targets" | "discovery_failing" | "key_set_unavailable" | "high_error_share" | "certificate_expired" | "certificate_expires_soon" | "certificate_files_unusable" | "client_certificate_missing" | "trusted_certificates_unusable" | "trusted_certificates_missing" | "trusted_certificates_differ" | "revocation_list_missing" | "revocation_list_overdue" | "certificate_not_valid_yet" | "certificate_order_failed" | "acme_directory_unavailable" | "certificate_orders_wait" | "limit_counters_full" | "stats_full" | "memory_short" | "descriptors_short" | "disk_full" | "history_not_compacted" | "log_lines_dropped" | "telemetry_not_exported" | "webhook_failing" | "events_given_up" | "events_dropped" | "secrets_unreadable" | "secret_key_changing" | "management_without_tls"; readonly title: string; readonly detail: string; readonly since: string | null; readonly node: string; readonly link: ProblemLink };

export type CurrentSession = { readonly id: string | null; readonly via: "session" | "token"; readonly actor: SessionActor; readonly csrf_token: string | null; readonly created_at: string | null; readonly expires_at: string | null; readonly idle_expires_at: string | null };

export type CurrentSessionEnvelope = { readonly status: number; readonly message: string; readonly data: CurrentSession; readonly warnings?: readonly (Warning)[] | undefined };

export type DatabaseState = { readonly driver: string; readonly address: string | null; readonly state: "ok" | "degraded" | "error"; readonly detail: string | null; readonly latency_ms: number | null; readonly clock_ahead_ms: number | null };

export type DeadLetter = { readonly event: Event; readonly tries: number; readonly error: string; readonly failed_at: string; readonly is_resent: boolean };

export type DeadLetterCount = { readonly dead_letters: number };

export type DeadLetterCountEnvelope = { readonly status: number; readonly message: string; readonly data: DeadLetterCount; readonly warnings?: readonly (Warning)[] | undefined };

export type DeadLetterList = { readonly status: number; readonly message: string; readonly data: readonly (DeadLetter)[]; readonly page: Page };

export type DebugToken = { readonly id: string; readonly app_id: string | null; readonly created_at: string; readonly expires_at: string };

export type DebugTokenInput = { readonly app?: string | undefined; readonly seconds: number };

export type DebugTokensEnvelope = { readonly status: number; readonly message: string; readonly data: readonly (DebugToken)[]; readonly warnings?: readonly (Warning)[] | undefined };

export type DeclaredApp = { readonly name?: string | undefined; readonly gateway_path: string; readonly hosts?: readonly (string)[] | undefined; readonly routing_mode?: "pass_through" | "managed_endpoint" | undefined; readonly default_policy?: Policy | null | undefined; readonly description?: string | null | undefined; readonly labels?: Readonly<Record<string, string>> | undefined; readonly allow_encoded_slashes?: boolean | undefined; readonly versions?: Readonly<Record<string, DeclaredVersion | null>> | undefined; readonly keys?: Readonly<Record<string, DeclaredKey | null>> | undefined };

export type DeclaredChange = { readonly change: "create" | "update" | "delete"; readonly type: "app" | "version" | "revision" | "endpoint" | "key"; readonly path: readonly (string)[]; readonly fields: Readonly<Record<string, FieldChange>>; readonly below?: number | undefined };

export type DeclaredEndpoint = { readonly backend_path?: string | null | undefined; readonly policy_override?: Policy | null | undefined; readonly is_active?: boolean | undefined };

export type DeclaredKey = { readonly name?: string | undefined; readonly scopes?: readonly (string)[] | undefined; readonly is_active?: boolean | undefined; readonly expires_at?: string | null | undefined; readonly rate_limit?: RateLimit | null | undefined; readonly token?: string | undefined; readonly token_sha256?: string | undefined };

export type DeclaredRevision = { readonly backend_scheme?: "http" | "https" | undefined; readonly backend_protocol?: "http1" | "h2" | "auto" | undefined; readonly backend_host?: string | undefined; readonly backend_port?: number | undefined; readonly backend_base_path?: string | undefined; readonly strip_gateway_path?: boolean | undefined; readonly preserve_host?: boolean | undefined; readonly traffic_weight?: number | undefined; readonly health_check_path?: string | null | undefined; readonly default_policy?: Policy | null | undefined; readonly is_current?: boolean | undefined; readonly backend_tls?: BackendTls | null | undefined; readonly circuit_breaker?: CircuitBreaker | null | undefined; readonly targets?: readonly (TargetInput)[] | null | undefined; readonly discovery?: Discovery | null | undefined; readonly load_balancing?: LoadBalancing | null | undefined; readonly endpoints?: Readonly<Record<string, DeclaredEndpoint | null>> | undefined };

export type DeclaredVersion = { readonly gateway_path?: string | undefined; readonly status?: "active" | "deprecated" | "retired" | undefined; readonly sunset_at?: string | null | undefined; readonly deprecated_at?: string | null | undefined; readonly successor?: string | null | undefined; readonly revisions?: Readonly<Record<string, DeclaredRevision>> | undefined };

export type Discovery = { readonly type: "dns" | "dns_srv" | "file"; readonly host?: string | undefined; readonly port?: number | undefined; readonly name?: string | undefined; readonly path?: string | undefined };

export type DiscoveryHealth = { readonly source: string; readonly targets: number; readonly looked_at: string | null; readonly changed_at: string | null; readonly stale_since: string | null; readonly error: string | null; readonly doubted: number | null; readonly left_out: number; readonly notes: readonly (string)[] };

export type DiscoveryPatch = { readonly type?: "dns" | "dns_srv" | "file" | null | undefined; readonly host?: string | null | undefined; readonly port?: number | null | undefined; readonly name?: string | null | undefined; readonly path?: string | null | undefined };

export type DryRun = { readonly would_answer: DryRunAnswer; readonly endpoints_total: number; readonly endpoints: readonly (DryRunEndpoint)[]; readonly keys_total: number; readonly keys: readonly (DryRunKey)[] };

export type DryRunAdmits = { readonly before: boolean; readonly after: boolean };

export type DryRunAnswer = { readonly status: number; readonly message: string; readonly data: unknown };

export type DryRunEndpoint = { readonly change: "added" | "removed" | "changed"; readonly version: string; readonly revision: string; readonly revision_id: string; readonly endpoint_id: string | null; readonly method: string; readonly before: DryRunState | null; readonly after: DryRunState | null; readonly parts: readonly (DryRunPartChange)[]; readonly admits: DryRunAdmits | null };

export type DryRunEnvelope = { readonly status: number; readonly message: string; readonly data: DryRun; readonly warnings?: readonly (Warning)[] | undefined };

export type DryRunKey = { readonly change: "added" | "removed" | "changed"; readonly id: string; readonly name: string | null };

export type DryRunPart = { readonly value: unknown; readonly source: PolicySource };

export type DryRunPartChange = { readonly part: "auth" | "required_scopes" | "allowed_methods" | "ip_access" | "concurrency" | "rate_limit" | "cors" | "max_body_bytes" | "buffer_request_bytes" | "min_body_bytes_per_sec" | "timeouts" | "retries" | "headers" | "grpc_web" | "shadow"; readonly before: DryRunPart | null; readonly after: DryRunPart | null };

export type DryRunState = { readonly route: string; readonly hosts?: readonly (string)[] | undefined; readonly serves: boolean };

export type EffectivePolicy = { readonly policy: Policy; readonly sources: Readonly<Record<string, PolicySource>>; readonly settings?: SettingsOfPolicy | undefined };

export type EffectivePolicyEnvelope = { readonly status: number; readonly message: string; readonly data: EffectivePolicy; readonly warnings?: readonly (Warning)[] | undefined };

export type Ejection = { readonly enabled?: boolean | undefined; readonly consecutive_failures?: number | undefined; readonly failure_percent?: number | undefined; readonly min_requests?: number | undefined; readonly base_secs?: number | undefined; readonly max_secs?: number | undefined; readonly count_5xx?: boolean | undefined };

export type EjectionPatch = { readonly enabled?: boolean | null | undefined; readonly consecutive_failures?: number | null | undefined; readonly failure_percent?: number | null | undefined; readonly min_requests?: number | null | undefined; readonly base_secs?: number | null | undefined; readonly max_secs?: number | null | undefined; readonly count_5xx?: boolean | null | undefined };

export type EncryptedValues = { readonly place: "policies" | "history" | "webhooks" | "certificates"; readonly key_id: string | null; readonly state: "current" | "other" | "unreadable" | "plain"; readonly count: number };

export type Endpoint = { readonly id: string; readonly created_at: string; readonly updated_at: string; readonly revision_id: string; readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "*"; readonly path: string; readonly backend_path: string | null; readonly policy_override: Policy | null; readonly is_active: boolean };

export type EndpointEnvelope = { readonly status: number; readonly message: string; readonly data: Endpoint; readonly warnings?: readonly (Warning)[] | undefined };

export type EndpointInput = { readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "*"; readonly path: string; readonly backend_path?: string | null | undefined; readonly policy_override?: Policy | null | undefined; readonly is_active?: boolean | undefined };

export type EndpointList = { readonly status: number; readonly message: string; readonly data: readonly (Endpoint)[]; readonly page: Page };

export type EndpointPatch = { readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "*" | null | undefined; readonly path?: string | null | undefined; readonly backend_path?: string | null | undefined; readonly policy_override?: PolicyPatch | null | undefined; readonly is_active?: boolean | null | undefined };

export type ErrorCode = "bad_request" | "bad_path" | "request_timeout" | "body_too_large" | "target_too_long" | "expectation_failed" | "header_too_large" | "not_implemented" | "http_version_not_supported" | "no_route" | "endpoint_not_found" | "endpoint_disabled" | "version_retired" | "no_revision" | "credentials_missing" | "credentials_invalid" | "insufficient_scope" | "missing_claim" | "method_not_allowed" | "concurrency_limited" | "rate_limited" | "too_many_auth_failures" | "upstream_connect_failed" | "upstream_denied" | "upstream_reset" | "upstream_bad_response" | "circuit_open" | "no_targets" | "jwt_keys_unavailable" | "overloaded" | "upstream_timeout" | "loop_detected" | "invalid_json" | "invalid_query" | "unauthenticated" | "forbidden" | "cross_site_request" | "sign_in_failed" | "sign_in_forbidden" | "identity_provider_failed" | "csrf_token_invalid" | "not_found" | "management_method_not_allowed" | "conflict" | "configuration_from_file" | "has_children" | "config_version_gone" | "precondition_failed" | "payload_too_large" | "too_many_sessions" | "unsupported_media_type" | "validation_failed" | "profile_failed" | "handing_over" | "storage_unavailable" | "internal_error" | "certificate_missing" | "certificate_invalid" | "misdirected_request" | "ip_denied";

export type Event = { readonly id: string; readonly type: string; readonly at: string; readonly node: string | null; readonly app_id?: string | undefined; readonly subject: { readonly kind: string; readonly id: string; readonly name: string }; readonly data: {  } };

export type EventList = { readonly status: number; readonly message: string; readonly data: readonly (Event)[]; readonly page: Page };

export type ExplainInput = { readonly method: string; readonly url: string; readonly host?: string | undefined; readonly headers?: Readonly<Record<string, string | readonly (string)[]>> | undefined; readonly client_ip?: string | undefined; readonly token?: string | undefined; readonly client_certificate?: string | undefined; readonly body_bytes?: number | undefined };

export type ExplainVersions = { readonly request?: ExplainInput | undefined; readonly request_id?: string | undefined; readonly live_id?: string | undefined; readonly version?: number | undefined; readonly from?: number | undefined; readonly to?: number | undefined };

export type ExplainVersionsEnvelope = { readonly status: number; readonly message: string; readonly data: ExplainVersionsResult; readonly warnings?: readonly (Warning)[] | undefined };

export type ExplainVersionsResult = { readonly config_version: number; readonly kept_from: number; readonly now: OutcomeAtVersion; readonly version: { readonly config_version: number; readonly outcome: OutcomeAtVersion; readonly same_as_now: boolean; readonly at: string | null; readonly actor: string | null; readonly source: string | null; readonly action: string | null; readonly message: string | null; readonly explanation: Explanation } | null; readonly segments: readonly (VersionSegment)[]; readonly tried: number; readonly complete: boolean };

export type ExplainedCandidate = { readonly id: string; readonly revision: string; readonly is_current: boolean; readonly traffic_weight: number; readonly share: number; readonly breaker: "closed" | "open" | "half_open" | "none"; readonly candidate: boolean; readonly chosen: boolean; readonly reason: string };

export type ExplainedCertificate = { readonly subject: string; readonly fingerprint: string; readonly expires_at: string | null; readonly ca: string; readonly trusted: string | null; readonly rule: number | null };

export type ExplainedLimit = { readonly kind: "policy" | "key" | "ip" | "auth_guard" | "concurrency"; readonly counter: string; readonly algorithm: string | null; readonly limit: number; readonly remaining: number; readonly reset_secs: number | null; readonly retry_after_secs: number | null; readonly admitted: boolean };

export type ExplainedRequest = { readonly method: string; readonly host: string; readonly path: string | null; readonly query: string | null; readonly client_ip: string; readonly headers: readonly (HeaderField)[] };

export type ExplainedResponse = { readonly status: number | null; readonly headers: readonly (HeaderField)[]; readonly body: unknown };

export type ExplainedStage = { readonly stage: "head" | "acme_challenge" | "https_redirect" | "path" | "route" | "preflight" | "ip_access" | "cors" | "auth_guard" | "auth" | "required_scopes" | "allowed_methods" | "max_body_bytes" | "concurrency" | "ip_rate_limit" | "rate_limit" | "last_hop" | "circuit_breaker" | "forward"; readonly verdict: "passed" | "answered" | "denied" | "would_deny" | "skipped" | "not_applicable"; readonly code: ErrorCode | null; readonly detail: string | null; readonly level: "app" | "revision" | "endpoint" | "global" | "key" | null; readonly source_id: string | null; readonly value: unknown };

export type ExplainedTarget = { readonly target: string; readonly zone: string | null; readonly algorithm: "least_requests" | "round_robin" | "hash"; readonly source: string | null; readonly reason: string; readonly targets: readonly (ExplainedTargetState)[] };

export type ExplainedTargetState = { readonly target: string; readonly weight: number; readonly state: "in_service" | "warming" | "ejected" | "unhealthy"; readonly in_flight: number };

export type ExplainedTimes = { readonly total: number; readonly groups: { readonly matching: number | null; readonly policy: number | null; readonly waiting: number | null; readonly earlier_attempts: number | null; readonly connect: number | null; readonly first_byte: number | null; readonly body: number | null }; readonly attempts: readonly ({ readonly revision_id: string; readonly revision: string; readonly target: string; readonly started_after: number; readonly duration: number; readonly status: number | null; readonly failure: string | null })[] };

export type Explanation = { readonly outcome: "forwarded" | "answered" | "denied" | "failed"; readonly code: ErrorCode | null; readonly request_id: string | null; readonly trace_id?: string | undefined; readonly trace_url?: string | undefined; readonly recorded_at: string | null; readonly config_version: number; readonly request: ExplainedRequest; readonly app: { readonly id: string; readonly slug: string; readonly routing_mode: "pass_through" | "managed_endpoint"; readonly host: string | null } | null; readonly version: { readonly id: string; readonly version: string; readonly gateway_path: string; readonly status: "active" | "deprecated" | "retired" } | null; readonly revision: { readonly id: string; readonly revision: string } | null; readonly candidates: readonly (ExplainedCandidate)[]; readonly target?: ExplainedTarget | undefined; readonly endpoint: { readonly id: string; readonly method: string; readonly path: string; readonly backend_path: string | null; readonly parameters: Readonly<Record<string, string>> } | null; readonly caller: { readonly kind: "anonymous" | "api_key" | "jwt" | "mtls"; readonly id: string; readonly name: string; readonly scopes: readonly (string)[] } | null; readonly certificate?: ExplainedCertificate | undefined; readonly stages: readonly (ExplainedStage)[]; readonly limits: readonly (ExplainedLimit)[]; readonly upstream: { readonly method: string; readonly url: string; readonly protocol: "http1" | "h2" | "auto"; readonly headers: readonly (HeaderField)[] } | null; readonly response: ExplainedResponse; readonly fix: Fix | null; readonly times: ExplainedTimes | null };

export type ExplanationEnvelope = { readonly status: number; readonly message: string; readonly data: Explanation; readonly warnings?: readonly (Warning)[] | undefined };

export type FieldChange = { readonly before: unknown; readonly after: unknown };

export type FieldError = { readonly pointer: string; readonly detail: string };

export type Fix = { readonly action: "correct_request" | "shorten_request" | "correct_path" | "create_version" | "allow_encoded_slashes" | "set_version_status" | "register_endpoint" | "enable_endpoint" | "activate_revision" | "create_revision" | "set_traffic_weight" | "send_credentials" | "replace_credentials" | "enable_token" | "extend_token" | "add_scopes" | "request_token" | "set_policy" | "wait" | "fix_keys" | "fix_backend"; readonly detail: string; readonly target: { readonly type: "app" | "version" | "revision" | "endpoint" | "token" | "setting"; readonly id: string } | null; readonly value: unknown; readonly call?: FixCall | null | undefined };

export type FixCall = { readonly method: "POST" | "PATCH"; readonly path: string; readonly content_type: string; readonly body: Readonly<Record<string, unknown>> | null; readonly if_match: string | null; readonly role: "editor" | "admin" };

export type Found = { readonly kind: "app" | "version" | "revision" | "endpoint" | "api_key" | "admin_token"; readonly id: string; readonly label: string; readonly path: string; readonly match: "exact" | "prefix" | "part"; readonly app_id: string | null; readonly version_id: string | null; readonly revision_id: string | null };

export type GatewayState = { readonly uptime_secs: number; readonly workers: WorkerCounts; readonly database: DatabaseState; readonly limit_store: LimitStoreState | null; readonly limit_counters: LimitCounters; readonly certificates: readonly (ListenerCertificate)[]; readonly breakers: BreakerCounts; readonly targets: TargetCounts; readonly telemetry: TelemetryState; readonly zone: string | null };

export type HashBy = { readonly by: "header" | "cookie" | "claim" | "path" | "ip"; readonly name?: string | undefined; readonly ttl_secs?: number | undefined };

export type HashByPatch = { readonly by?: "header" | "cookie" | "claim" | "path" | "ip" | null | undefined; readonly name?: string | null | undefined; readonly ttl_secs?: number | null | undefined };

export type HeaderField = { readonly name: string; readonly value: string };

export type Health = { readonly db: string; readonly db_driver: string; readonly uptime_secs: number; readonly config_file?: string | undefined };

export type HealthEnvelope = { readonly status: number; readonly message: string; readonly data: Health; readonly warnings?: readonly (Warning)[] | undefined };

export type LimitCounters = { readonly counters: number; readonly bytes: number; readonly bytes_peak: number; readonly bytes_max: number; readonly evictions: number };

export type LimitStoreMemory = { readonly bytes: number; readonly bytes_max: number | null; readonly policy: string };

export type LimitStoreState = { readonly kind: "single" | "cluster" | "sentinel"; readonly address: string; readonly connected: boolean; readonly latency_ms: number | null; readonly nodes: number; readonly fallback: string | null; readonly memory: LimitStoreMemory | null };

export type ListedChange = { readonly change: "create" | "update" | "delete"; readonly type: string; readonly path: readonly (string)[]; readonly fields: Readonly<Record<string, unknown>>; readonly below?: number | undefined };

export type ListedSessionActor = { readonly id: string; readonly name: string; readonly role: "admin" | "editor" | "viewer" | null };

export type ListenerCertificate = { readonly listener: "traffic" | "management" | "backends" | "clients" | "collectors"; readonly names: readonly (string)[]; readonly valid_from: string; readonly expires_at: string; readonly days_left: number; readonly state: "valid" | "expires_soon" | "expired" | "not_valid_yet"; readonly crl_update_due_at: string | null };

export type LiveEvent = LiveExchange | LiveStatus;

export type LiveExchange = { readonly id: string; readonly request_id: string; readonly trace_id: string | null; readonly time: string; readonly node: string; readonly worker: number; readonly protocol: string; readonly method: string; readonly host: string; readonly path: string; readonly status: number | null; readonly code: string | null; readonly app: { readonly id: string; readonly slug: string } | null; readonly version: { readonly id: string; readonly version: string } | null; readonly revision: { readonly id: string; readonly revision: string } | null; readonly endpoint: { readonly id: string; readonly method: string; readonly path: string } | null; readonly caller: { readonly kind: "anonymous" | "api_key" | "jwt" | "mtls"; readonly id: string; readonly name: string } | null; readonly client_ip: string; readonly user_agent: string; readonly aborted: boolean; readonly duration_ms: number; readonly upstream_ms: number | null; readonly attempts: number; readonly bytes_in: number; readonly bytes_out: number; readonly explained: boolean };

export type LiveStatus = { readonly node: { readonly id: string; readonly name: string }; readonly other_nodes: readonly ({ readonly id: string; readonly name: string })[] | null; readonly per_second: number; readonly resumed: boolean; readonly seconds: number; readonly seen_per_second: number; readonly shown_per_second: number; readonly seen: number; readonly shown: number; readonly dropped: number; readonly lost: number };

export type LivenessEnvelope = { readonly status: number; readonly message: string; readonly data: null; readonly warnings?: readonly (Warning)[] | undefined };

export type LoadBalancing = { readonly algorithm?: "least_requests" | "round_robin" | "hash" | undefined; readonly hash?: HashBy | undefined; readonly ejection?: Ejection | undefined; readonly slow_start_secs?: number | undefined; readonly max_connections?: number | undefined; readonly max_waiting?: number | undefined };

export type LoadBalancingPatch = { readonly algorithm?: "least_requests" | "round_robin" | "hash" | null | undefined; readonly hash?: HashByPatch | null | undefined; readonly ejection?: EjectionPatch | null | undefined; readonly slow_start_secs?: number | null | undefined; readonly max_connections?: number | null | undefined; readonly max_waiting?: number | null | undefined };

export type Node = { readonly id: string; readonly name: string; readonly version: string; readonly started_at: string; readonly last_seen_at: string; readonly config_version: number; readonly state: "live" | "lagging"; readonly is_self: boolean };

export type NodeState = { readonly node: string; readonly is_self: boolean; readonly state: GatewayState | null };

export type Nodes = { readonly config_version: number; readonly nodes: readonly (Node)[] };

export type NodesEnvelope = { readonly status: number; readonly message: string; readonly data: Nodes; readonly warnings?: readonly (Warning)[] | undefined };

export type NotRestoredKey = { readonly app: string; readonly key: string; readonly id: string; readonly reasons: readonly ("deleted" | "expired" | "value" | "inactive" | "scopes" | "expires_at")[] };

export type OpenApiImport = { readonly config: unknown; readonly base_version: number; readonly operations: number; readonly notes: readonly (string)[]; readonly notes_total: number };

export type OpenApiImportEnvelope = { readonly status: number; readonly message: string; readonly data: OpenApiImport; readonly warnings?: readonly (Warning)[] | undefined };

export type OpenApiImportInput = { readonly document: unknown; readonly app: string; readonly version?: string | undefined; readonly revision?: string | undefined; readonly gateway_path?: string | undefined; readonly backend?: string | undefined; readonly security?: boolean | undefined };

export type OpenIdSignIn = { readonly name: string; readonly start_url: string };

export type OutcomeAtVersion = { readonly outcome: string; readonly status: number | null; readonly code: string | null; readonly stage: string | null; readonly detail: string | null; readonly backend: string | null; readonly app: string | null; readonly guessed: boolean };

export type Page = { readonly limit: number; readonly next_cursor: string | null; readonly total: number };

export type PlanCaller = { readonly kind: "anonymous" | "api_key" | "jwt" | "mtls"; readonly id: string; readonly name: string; readonly app: string | null };

export type PlanSide = { readonly status: number | null; readonly code: string | null; readonly backends: readonly (string)[]; readonly cors_refused: boolean };

export type PlanTraffic = { readonly requests: number; readonly recorded: number; readonly since: string | null; readonly changed: number; readonly undecided: number; readonly groups: readonly (PlanTrafficGroup)[]; readonly groups_total: number; readonly problem: string | null };

export type PlanTrafficGroup = { readonly from: PlanSide; readonly to: PlanSide; readonly by: PlanCaller; readonly count: number; readonly first: string };

export type Policy = { readonly auth?: { readonly auth_type: "api_key" | "jwt" | "mtls" | "none"; readonly required?: boolean | undefined; readonly required_claims?: readonly (string)[] | undefined; readonly in?: string | undefined; readonly forward_credentials?: boolean | undefined; readonly jwt?: { readonly issuer?: string | undefined; readonly audiences?: readonly (string)[] | undefined; readonly jwks_uri?: string | undefined; readonly jwks?: { readonly keys: readonly (Readonly<Record<string, unknown>>)[] } | undefined; readonly secret?: string | undefined; readonly algorithms?: readonly ("RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" | "ES256" | "ES384" | "ES512" | "EdDSA" | "HS256" | "HS384" | "HS512")[] | undefined; readonly leeway_secs?: number | undefined; readonly claims_to_headers?: Readonly<Record<string, string>> | undefined } | undefined; readonly mtls?: { readonly ca: string; readonly callers?: readonly ({ readonly from: "san_uri" | "san_dns" | "san_email" | "subject" | "fingerprint"; readonly value: string; readonly name?: string | undefined; readonly scopes?: readonly (string)[] | undefined })[] | undefined; readonly revocation_lists?: "if_present" | "required" | undefined; readonly forward?: "none" | "client_cert" | "x_forwarded_client_cert" | undefined } | undefined } | null | undefined; readonly required_scopes?: readonly (string)[] | null | undefined; readonly allowed_methods?: readonly (string)[] | null | undefined; readonly ip_access?: { readonly allow?: readonly (string)[] | undefined; readonly deny?: readonly (string)[] | undefined } | null | undefined; readonly concurrency?: { readonly max: number; readonly per?: string | undefined } | null | undefined; readonly rate_limit?: { readonly enabled?: boolean | undefined; readonly requests?: number | undefined; readonly window_seconds?: number | undefined; readonly algorithm?: "fixed_window" | "sliding_window" | "token_bucket" | undefined; readonly burst?: number | undefined; readonly per?: string | undefined; readonly mode?: "leased" | "exact" | undefined; readonly on_store_failure?: "share" | "allow" | "deny" | undefined } | null | undefined; readonly cors?: { readonly allowed_origins: readonly (string)[]; readonly allowed_methods?: readonly (string)[] | undefined; readonly allowed_headers?: readonly (string)[] | undefined; readonly expose_headers?: readonly (string)[] | undefined; readonly allow_credentials?: boolean | undefined; readonly max_age_secs?: number | undefined } | null | undefined; readonly max_body_bytes?: number | null | undefined; readonly buffer_request_bytes?: number | null | undefined; readonly min_body_bytes_per_sec?: number | null | undefined; readonly timeouts?: { readonly connect_ms?: number | undefined; readonly first_byte_ms?: number | undefined; readonly idle_ms?: number | undefined; readonly total_ms?: number | undefined } | null | undefined; readonly retries?: { readonly max?: number | undefined; readonly on?: readonly ("connect" | "reset" | "timeout" | "500" | "502" | "503" | "504")[] | undefined } | null | undefined; readonly headers?: { readonly request?: { readonly set?: Readonly<Record<string, string>> | undefined; readonly add?: Readonly<Record<string, string>> | undefined; readonly remove?: readonly (string)[] | undefined; readonly rename?: Readonly<Record<string, string>> | undefined } | undefined; readonly response?: { readonly set?: Readonly<Record<string, string>> | undefined; readonly add?: Readonly<Record<string, string>> | undefined; readonly remove?: readonly (string)[] | undefined; readonly rename?: Readonly<Record<string, string>> | undefined } | undefined } | null | undefined; readonly grpc_web?: boolean | null | undefined; readonly shadow?: readonly ("auth" | "required_scopes" | "allowed_methods" | "ip_access" | "concurrency" | "rate_limit" | "cors" | "max_body_bytes")[] | null | undefined };

export type PolicyPatch = { readonly auth?: { readonly auth_type?: "api_key" | "jwt" | "mtls" | "none" | null | undefined; readonly required?: boolean | null | undefined; readonly required_claims?: readonly (string)[] | null | undefined; readonly in?: string | null | undefined; readonly forward_credentials?: boolean | null | undefined; readonly jwt?: { readonly issuer?: string | null | undefined; readonly audiences?: readonly (string)[] | null | undefined; readonly jwks_uri?: string | null | undefined; readonly jwks?: { readonly keys?: readonly (Readonly<Record<string, unknown>>)[] | null | undefined } | null | undefined; readonly secret?: string | null | undefined; readonly algorithms?: readonly ("RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" | "ES256" | "ES384" | "ES512" | "EdDSA" | "HS256" | "HS384" | "HS512")[] | null | undefined; readonly leeway_secs?: number | null | undefined; readonly claims_to_headers?: Readonly<Record<string, string | null>> | null | undefined } | null | undefined; readonly mtls?: { readonly ca?: string | null | undefined; readonly callers?: readonly ({ readonly from: "san_uri" | "san_dns" | "san_email" | "subject" | "fingerprint"; readonly value: string; readonly name?: string | undefined; readonly scopes?: readonly (string)[] | undefined })[] | null | undefined; readonly revocation_lists?: "if_present" | "required" | null | undefined; readonly forward?: "none" | "client_cert" | "x_forwarded_client_cert" | null | undefined } | null | undefined } | null | undefined; readonly required_scopes?: readonly (string)[] | null | undefined; readonly allowed_methods?: readonly (string)[] | null | undefined; readonly ip_access?: { readonly allow?: readonly (string)[] | null | undefined; readonly deny?: readonly (string)[] | null | undefined } | null | undefined; readonly concurrency?: { readonly max?: number | null | undefined; readonly per?: string | null | undefined } | null | undefined; readonly rate_limit?: { readonly enabled?: boolean | null | undefined; readonly requests?: number | null | undefined; readonly window_seconds?: number | null | undefined; readonly algorithm?: "fixed_window" | "sliding_window" | "token_bucket" | null | undefined; readonly burst?: number | null | undefined; readonly per?: string | null | undefined; readonly mode?: "leased" | "exact" | null | undefined; readonly on_store_failure?: "share" | "allow" | "deny" | null | undefined } | null | undefined; readonly cors?: { readonly allowed_origins?: readonly (string)[] | null | undefined; readonly allowed_methods?: readonly (string)[] | null | undefined; readonly allowed_headers?: readonly (string)[] | null | undefined; readonly expose_headers?: readonly (string)[] | null | undefined; readonly allow_credentials?: boolean | null | undefined; readonly max_age_secs?: number | null | undefined } | null | undefined; readonly max_body_bytes?: number | null | undefined; readonly buffer_request_bytes?: number | null | undefined; readonly min_body_bytes_per_sec?: number | null | undefined; readonly timeouts?: { readonly connect_ms?: number | null | undefined; readonly first_byte_ms?: number | null | undefined; readonly idle_ms?: number | null | undefined; readonly total_ms?: number | null | undefined } | null | undefined; readonly retries?: { readonly max?: number | null | undefined; readonly on?: readonly ("connect" | "reset" | "timeout" | "500" | "502" | "503" | "504")[] | null | undefined } | null | undefined; readonly headers?: { readonly request?: { readonly set?: Readonly<Record<string, string | null>> | null | undefined; readonly add?: Readonly<Record<string, string | null>> | null | undefined; readonly remove?: readonly (string)[] | null | undefined; readonly rename?: Readonly<Record<string, string | null>> | null | undefined } | null | undefined; readonly response?: { readonly set?: Readonly<Record<string, string | null>> | null | undefined; readonly add?: Readonly<Record<string, string | null>> | null | undefined; readonly remove?: readonly (string)[] | null | undefined; readonly rename?: Readonly<Record<string, string | null>> | null | undefined } | null | undefined } | null | undefined; readonly grpc_web?: boolean | null | undefined; readonly shadow?: readonly ("auth" | "required_scopes" | "allowed_methods" | "ip_access" | "concurrency" | "rate_limit" | "cors" | "max_body_bytes")[] | null | undefined };

export type PolicySource = { readonly level: "app" | "revision" | "endpoint" | "global" | "key"; readonly id: string };

export type Probe = { readonly protocol?: "http" | "grpc" | undefined; readonly service?: string | undefined; readonly interval_ms?: number | undefined; readonly timeout_ms?: number | undefined; readonly healthy_threshold?: number | undefined; readonly unhealthy_threshold?: number | undefined; readonly expected_statuses?: readonly (number | string)[] | undefined };

export type ProbePatch = { readonly protocol?: "http" | "grpc" | null | undefined; readonly service?: string | null | undefined; readonly interval_ms?: number | null | undefined; readonly timeout_ms?: number | null | undefined; readonly healthy_threshold?: number | null | undefined; readonly unhealthy_threshold?: number | null | undefined; readonly expected_statuses?: readonly (number | string)[] | null | undefined };

export type Problem = { readonly type: string; readonly title: string; readonly status: number; readonly detail: string; readonly instance: string; readonly code: ErrorCode; readonly message: string; readonly data: null; readonly request_id: string; readonly errors?: readonly (FieldError)[] | undefined };

export type ProblemLink = { readonly kind: "app" | "revision" | "nodes" | "workers" | "database" | "limits" | "certificates" | "settings" | "config_file" | "logs" | "webhooks"; readonly app?: string | undefined; readonly version?: string | undefined; readonly revision?: string | undefined; readonly node?: string | undefined; readonly setting?: string | undefined };

export type ProblemsEnvelope = { readonly status: number; readonly message: string; readonly data: readonly (CurrentProblem)[]; readonly warnings?: readonly (Warning)[] | undefined };

export type ProfileInput = { readonly kind: "cpu" | "heap"; readonly thread?: "worker" | "main" | undefined; readonly worker?: number | undefined; readonly seconds?: number | undefined; readonly contains_secrets?: boolean | undefined };

export type RateLimit = { readonly enabled?: boolean | undefined; readonly requests?: number | undefined; readonly window_seconds?: number | undefined; readonly algorithm?: "fixed_window" | "sliding_window" | "token_bucket" | undefined; readonly burst?: number | undefined; readonly per?: string | undefined; readonly mode?: "leased" | "exact" | undefined; readonly on_store_failure?: "share" | "allow" | "deny" | undefined };

export type RateLimitPatch = { readonly enabled?: boolean | null | undefined; readonly requests?: number | null | undefined; readonly window_seconds?: number | null | undefined; readonly algorithm?: "fixed_window" | "sliding_window" | "token_bucket" | null | undefined; readonly burst?: number | null | undefined; readonly per?: string | null | undefined; readonly mode?: "leased" | "exact" | null | undefined; readonly on_store_failure?: "share" | "allow" | "deny" | null | undefined };

export type Readiness = { readonly ready: boolean; readonly reason: string | null };

export type ReadinessEnvelope = { readonly status: number; readonly message: string; readonly data: Readiness; readonly warnings?: readonly (Warning)[] | undefined };

export type RecordChange = { readonly change: "create" | "update" | "delete"; readonly type: "app" | "version" | "revision" | "endpoint" | "key"; readonly path: readonly (string)[]; readonly id: string; readonly app_id: string; readonly before: Readonly<Record<string, unknown>> | null; readonly after: Readonly<Record<string, unknown>> | null };

export type RekeyedSecrets = { readonly source: string; readonly keys: readonly (SecretKey)[]; readonly values: readonly (EncryptedValues)[]; readonly rekeyed: number };

export type RekeyedSecretsEnvelope = { readonly status: number; readonly message: string; readonly data: RekeyedSecrets; readonly warnings?: readonly (Warning)[] | undefined };

export type Revision = { readonly id: string; readonly created_at: string; readonly updated_at: string; readonly version_id: string; readonly revision: string; readonly backend_scheme: "http" | "https"; readonly backend_protocol: "http1" | "h2" | "auto"; readonly backend_host: string; readonly backend_port: number; readonly backend_base_path: string; readonly strip_gateway_path: boolean; readonly preserve_host: boolean; readonly traffic_weight: number; readonly health_check_path: string | null; readonly default_policy: Policy | null; readonly is_current: boolean; readonly backend_tls: BackendTls | null; readonly circuit_breaker: CircuitBreaker | null; readonly targets: readonly (Target)[] | null; readonly discovery: Discovery | null; readonly load_balancing: LoadBalancing | null };

export type RevisionCreation = { readonly revision: string; readonly backend_scheme?: "http" | "https" | undefined; readonly backend_protocol?: "http1" | "h2" | "auto" | undefined; readonly backend_host?: string | undefined; readonly backend_port?: number | undefined; readonly backend_base_path?: string | undefined; readonly strip_gateway_path?: boolean | undefined; readonly preserve_host?: boolean | undefined; readonly traffic_weight?: number | undefined; readonly health_check_path?: string | null | undefined; readonly default_policy?: Policy | null | undefined; readonly is_current?: boolean | undefined; readonly backend_tls?: BackendTls | null | undefined; readonly circuit_breaker?: CircuitBreaker | null | undefined; readonly targets?: readonly (TargetInput)[] | null | undefined; readonly discovery?: Discovery | null | undefined; readonly load_balancing?: LoadBalancing | null | undefined; readonly copy_endpoints_from?: string | undefined };

export type RevisionEnvelope = { readonly status: number; readonly message: string; readonly data: Revision; readonly warnings?: readonly (Warning)[] | undefined };

export type RevisionHealth = { readonly revision_id: string; readonly state: "closed" | "open" | "half_open"; readonly since: string | null; readonly consecutive_failures: number; readonly openings: number; readonly traffic_share: number; readonly probing: "off" | "while_open" | "always"; readonly last_error: RevisionLastError | null; readonly last_probe: RevisionProbe | null; readonly history: readonly (RevisionTransition)[]; readonly targets?: readonly (TargetHealth)[] | undefined; readonly discovery?: DiscoveryHealth | undefined };

export type RevisionHealthEnvelope = { readonly status: number; readonly message: string; readonly data: RevisionHealth; readonly warnings?: readonly (Warning)[] | undefined };

export type RevisionInput = { readonly revision: string; readonly backend_scheme?: "http" | "https" | undefined; readonly backend_protocol?: "http1" | "h2" | "auto" | undefined; readonly backend_host?: string | undefined; readonly backend_port?: number | undefined; readonly backend_base_path?: string | undefined; readonly strip_gateway_path?: boolean | undefined; readonly preserve_host?: boolean | undefined; readonly traffic_weight?: number | undefined; readonly health_check_path?: string | null | undefined; readonly default_policy?: Policy | null | undefined; readonly is_current?: boolean | undefined; readonly backend_tls?: BackendTls | null | undefined; readonly circuit_breaker?: CircuitBreaker | null | undefined; readonly targets?: readonly (TargetInput)[] | null | undefined; readonly discovery?: Discovery | null | undefined; readonly load_balancing?: LoadBalancing | null | undefined };

export type RevisionLastError = { readonly at: string; readonly kind: string; readonly detail: string; readonly request_id: string };

export type RevisionList = { readonly status: number; readonly message: string; readonly data: readonly (Revision)[]; readonly page: Page };

export type RevisionPatch = { readonly revision?: string | null | undefined; readonly backend_scheme?: "http" | "https" | null | undefined; readonly backend_protocol?: "http1" | "h2" | "auto" | null | undefined; readonly backend_host?: string | null | undefined; readonly backend_port?: number | null | undefined; readonly backend_base_path?: string | null | undefined; readonly strip_gateway_path?: boolean | null | undefined; readonly preserve_host?: boolean | null | undefined; readonly traffic_weight?: number | null | undefined; readonly health_check_path?: string | null | undefined; readonly default_policy?: PolicyPatch | null | undefined; readonly is_current?: boolean | null | undefined; readonly backend_tls?: BackendTlsPatch | null | undefined; readonly circuit_breaker?: CircuitBreakerPatch | null | undefined; readonly targets?: readonly (TargetInput)[] | null | undefined; readonly discovery?: DiscoveryPatch | null | undefined; readonly load_balancing?: LoadBalancingPatch | null | undefined };

export type RevisionProbe = { readonly at: string; readonly ok: boolean; readonly status: number | null; readonly duration_ms: number; readonly error: string | null };

export type RevisionTransition = { readonly at: string; readonly from: "closed" | "open" | "half_open"; readonly to: "closed" | "open" | "half_open"; readonly event: string; readonly detail: string; readonly request_id: string | null };

export type Rollback = { readonly base_version: number; readonly rolled_back_to: number; readonly totals: { readonly create: number; readonly update: number; readonly delete: number }; readonly changes: readonly (ListedChange)[]; readonly not_restored: readonly (NotRestoredKey)[]; readonly not_restored_total: number };

export type RollbackEnvelope = { readonly status: number; readonly message: string; readonly data: Rollback; readonly warnings?: readonly (Warning)[] | undefined };

export type RollbackInput = { readonly app?: string | undefined; readonly delete_keys?: boolean | undefined; readonly base_version?: number | undefined; readonly dry_run?: boolean | undefined; readonly message?: string | undefined };

export type RotateInput = { readonly overlap_secs?: number | undefined };

export type Sampling = { readonly app_id: string | null; readonly rate: number; readonly until: string };

export type SamplingEnvelope = { readonly status: number; readonly message: string; readonly data: Sampling | null; readonly warnings?: readonly (Warning)[] | undefined };

export type SamplingInput = { readonly app?: string | undefined; readonly rate?: number | undefined; readonly seconds: number };

export type SearchEnvelope = { readonly status: number; readonly message: string; readonly data: SearchResult; readonly warnings?: readonly (Warning)[] | undefined };

export type SearchResult = { readonly items: readonly (Found)[]; readonly total: number; readonly complete: boolean };

export type SecretKey = { readonly id: string; readonly encrypts: boolean; readonly values: number };

export type Secrets = { readonly source: string; readonly keys: readonly (SecretKey)[]; readonly values: readonly (EncryptedValues)[] };

export type SecretsEnvelope = { readonly status: number; readonly message: string; readonly data: Secrets; readonly warnings?: readonly (Warning)[] | undefined };

export type Session = { readonly id: string; readonly actor: ListedSessionActor; readonly address: string; readonly user_agent: string | null; readonly created_at: string; readonly last_used_at: string; readonly expires_at: string; readonly idle_expires_at: string; readonly current: boolean };

export type SessionActor = { readonly id: string; readonly name: string; readonly role: "admin" | "editor" | "viewer" };

export type SessionList = { readonly status: number; readonly message: string; readonly data: readonly (Session)[]; readonly page: Page };

export type Setting = { readonly name: string; readonly group: string; readonly type: string; readonly value: string | number | boolean | readonly (string)[] | null; readonly default: string | number | boolean | readonly (string)[] | null; readonly default_text: string | null; readonly source: "default" | "environment"; readonly secret: boolean; readonly unit: string | null; readonly doc: string };

export type Settings = { readonly items: readonly (Setting)[] };

export type SettingsEnvelope = { readonly status: number; readonly message: string; readonly data: Settings; readonly warnings?: readonly (Warning)[] | undefined };

export type SettingsOfPolicy = { readonly rate_limit?: { readonly enabled?: boolean | undefined; readonly requests?: number | undefined; readonly window_seconds?: number | undefined; readonly algorithm?: "fixed_window" | "sliding_window" | "token_bucket" | undefined; readonly burst?: number | undefined; readonly per?: string | undefined; readonly mode?: "leased" | "exact" | undefined; readonly on_store_failure?: "share" | "allow" | "deny" | undefined } | undefined; readonly max_body_bytes?: number | undefined; readonly ip_rate_limit?: { readonly requests: number; readonly window_seconds: number } | undefined };

export type ShadowCaller = { readonly kind: "anonymous" | "api_key" | "jwt" | "mtls"; readonly id: string; readonly name: string; readonly total: number; readonly first_at: string; readonly last_at: string };

export type ShadowLast = { readonly at: string; readonly request_id: string; readonly code: string; readonly detail: string };

export type ShadowReport = { readonly app_id: string; readonly since: string; readonly from: string; readonly total: number; readonly by_part: Readonly<Record<string, number>>; readonly rows_total: number; readonly rows: readonly (ShadowRow)[] };

export type ShadowReportEnvelope = { readonly status: number; readonly message: string; readonly data: ShadowReport; readonly warnings?: readonly (Warning)[] | undefined };

export type ShadowRow = { readonly part: string; readonly version: string | null; readonly revision: string | null; readonly revision_id: string | null; readonly endpoint_id: string | null; readonly method: string | null; readonly route: string | null; readonly total: number; readonly first_at: string; readonly last: ShadowLast; readonly keys: readonly (ShadowCaller)[]; readonly other_keys: number };

export type SignIn = { readonly token: string };

export type SignInOptions = { readonly signed_in: boolean; readonly token: true; readonly oidc: OpenIdSignIn | null };

export type SignInOptionsEnvelope = { readonly status: number; readonly message: string; readonly data: SignInOptions; readonly warnings?: readonly (Warning)[] | undefined };

export type SignedIn = { readonly actor: SessionActor; readonly csrf_token: string; readonly created_at: string; readonly expires_at: string; readonly idle_expires_at: string };

export type SignedInEnvelope = { readonly status: number; readonly message: string; readonly data: SignedIn; readonly warnings?: readonly (Warning)[] | undefined };

export type StateEnvelope = { readonly status: number; readonly message: string; readonly data: readonly (NodeState)[]; readonly warnings?: readonly (Warning)[] | undefined };

export type Stats = { readonly enabled: boolean; readonly window: "15m" | "24h"; readonly from: string; readonly to: string; readonly step_secs: number; readonly nodes: readonly (StatsNode)[]; readonly points: StatsPoints; readonly denials: Readonly<Record<string, readonly (number | null)[]>>; readonly failures: Readonly<Record<string, readonly (number | null)[]>>; readonly totals: StatsTotals };

export type StatsEnvelope = { readonly status: number; readonly message: string; readonly data: Stats; readonly warnings?: readonly (Warning)[] | undefined };

export type StatsNode = { readonly name: string; readonly complete: boolean; readonly answered: boolean; readonly since: string | null };

export type StatsPoints = { readonly time: readonly (number)[]; readonly requests: readonly (number | null)[]; readonly status_2xx: readonly (number | null)[]; readonly status_3xx: readonly (number | null)[]; readonly status_4xx: readonly (number | null)[]; readonly status_5xx: readonly (number | null)[]; readonly status_other: readonly (number | null)[]; readonly errors: readonly (number | null)[]; readonly failures: readonly (number | null)[]; readonly denied: readonly (number | null)[]; readonly rate_limited: readonly (number | null)[]; readonly breaker_open: readonly (number | null)[]; readonly retries: readonly (number | null)[]; readonly bytes_in: readonly (number | null)[]; readonly bytes_out: readonly (number | null)[]; readonly p50_ms: readonly (number | null)[]; readonly p95_ms: readonly (number | null)[]; readonly p99_ms: readonly (number | null)[]; readonly upstream_p50_ms: readonly (number | null)[]; readonly upstream_p95_ms: readonly (number | null)[]; readonly upstream_p99_ms: readonly (number | null)[]; readonly connections: readonly (number | null)[]; readonly in_flight: readonly (number | null)[] };

export type StatsRow = { readonly app_id: string | null; readonly app: string | null; readonly version_id: string | null; readonly version: string | null; readonly route: string | null; readonly key_id: string | null; readonly key: string | null; readonly reason: string | null; readonly requests: number; readonly errors: number; readonly denied: number; readonly error_share: number | null; readonly p95_ms: number | null; readonly sparkline: readonly (number | null)[] };

export type StatsTop = { readonly enabled: boolean; readonly window: "15m" | "24h"; readonly from: string; readonly to: string; readonly step_secs: number; readonly nodes: readonly (StatsNode)[]; readonly by: "app" | "version" | "route" | "reason" | "key"; readonly rows: readonly (StatsRow)[]; readonly rows_total: number; readonly other_requests: number; readonly requests: number };

export type StatsTopEnvelope = { readonly status: number; readonly message: string; readonly data: StatsTop; readonly warnings?: readonly (Warning)[] | undefined };

export type StatsTotals = { readonly requests: number; readonly status_2xx: number; readonly status_3xx: number; readonly status_4xx: number; readonly status_5xx: number; readonly status_other: number; readonly errors: number; readonly failures: number; readonly denied: number; readonly rate_limited: number; readonly breaker_open: number; readonly retries: number; readonly bytes_in: number; readonly bytes_out: number; readonly p50_ms: number | null; readonly p95_ms: number | null; readonly p99_ms: number | null; readonly upstream_p50_ms: number | null; readonly upstream_p95_ms: number | null; readonly upstream_p99_ms: number | null };

export type Target = { readonly host: string; readonly port: number; readonly weight: number; readonly zone?: string | undefined };

export type TargetCounts = { readonly in_service: number; readonly ejected: number; readonly unhealthy: number };

export type TargetHealth = { readonly host: string; readonly port: number; readonly weight: number; readonly zone: string | null; readonly state: "in_service" | "warming" | "ejected" | "unhealthy"; readonly share: number; readonly in_flight: number; readonly requests: number; readonly failures: number; readonly consecutive_failures: number; readonly ejections: number; readonly ejected_until: string | null; readonly cause: string | null; readonly last_probe: RevisionProbe | null };

export type TargetInput = { readonly host: string; readonly port?: number | undefined; readonly weight?: number | undefined; readonly zone?: string | undefined };

export type TelemetryFailure = { readonly at: string; readonly detail: string };

export type TelemetrySignal = { readonly state: "off" | "ok" | "failing"; readonly endpoint: string | null; readonly exported: number; readonly dropped: number; readonly failed: number; readonly waiting_bytes: number | null; readonly last_failure: TelemetryFailure | null };

export type TelemetryState = { readonly traces: TelemetrySignal; readonly metrics: TelemetrySignal; readonly logs: TelemetrySignal };

export type Token = { readonly id: string; readonly created_at: string; readonly updated_at: string; readonly app_id: string; readonly name: string; readonly scopes: readonly (string)[]; readonly token_prefix: string; readonly is_active: boolean; readonly expires_at: string | null; readonly previous_expires_at: string | null; readonly last_used_at: string | null; readonly rate_limit: RateLimit | null };

export type TokenCreation = { readonly name: string; readonly scopes?: readonly (string)[] | undefined; readonly is_active?: boolean | undefined; readonly expires_at?: string | null | undefined; readonly rate_limit?: RateLimit | null | undefined; readonly token?: string | undefined };

export type TokenEnvelope = { readonly status: number; readonly message: string; readonly data: Token; readonly warnings?: readonly (Warning)[] | undefined };

export type TokenInactiveReason = "malformed" | "unknown" | "disabled" | "expired" | "replaced";

export type TokenInput = { readonly name: string; readonly scopes?: readonly (string)[] | undefined; readonly is_active?: boolean | undefined; readonly expires_at?: string | null | undefined; readonly rate_limit?: RateLimit | null | undefined };

export type TokenIntrospection = { readonly active: boolean; readonly reason: TokenInactiveReason | null; readonly is_current_value?: boolean | undefined; readonly valid_until?: string | null | undefined; readonly app_slug?: string | undefined; readonly app_name?: string | undefined; readonly id?: string | undefined; readonly created_at?: string | undefined; readonly updated_at?: string | undefined; readonly app_id?: string | undefined; readonly name?: string | undefined; readonly scopes?: readonly (string)[] | undefined; readonly token_prefix?: string | undefined; readonly is_active?: boolean | undefined; readonly expires_at?: string | null | undefined; readonly previous_expires_at?: string | null | undefined; readonly last_used_at?: string | null | undefined; readonly rate_limit?: RateLimit | null | undefined };

export type TokenIntrospectionEnvelope = { readonly status: number; readonly message: string; readonly data: TokenIntrospection; readonly warnings?: readonly (Warning)[] | undefined };

export type TokenIntrospectionInput = { readonly token: string };

export type TokenList = { readonly status: number; readonly message: string; readonly data: readonly (Token)[]; readonly page: Page };

export type TokenPatch = { readonly name?: string | null | undefined; readonly scopes?: readonly (string)[] | null | undefined; readonly is_active?: boolean | null | undefined; readonly expires_at?: string | null | undefined; readonly rate_limit?: RateLimitPatch | null | undefined };

export type TokenUsage = { readonly token_id: string; readonly from: string; readonly to: string; readonly totals: TokenUsageCounts; readonly days: readonly (TokenUsageDay)[] };

export type TokenUsageCounts = { readonly allowed: number; readonly limited: number; readonly denied: number };

export type TokenUsageDay = { readonly date: string; readonly allowed: number; readonly limited: number; readonly denied: number };

export type TokenUsageEnvelope = { readonly status: number; readonly message: string; readonly data: TokenUsage; readonly warnings?: readonly (Warning)[] | undefined };

export type Traffic = Readonly<Record<string, number>>;

export type TrafficEnvelope = { readonly status: number; readonly message: string; readonly data: Traffic; readonly warnings?: readonly (Warning)[] | undefined };

export type Transaction = { readonly operations: readonly (TransactionOperation)[] };

export type TransactionAnswer = { readonly id: string | null; readonly operation: string; readonly status: number; readonly etag: string | null; readonly location: string | null; readonly body: unknown | null };

export type TransactionEnvelope = { readonly status: number; readonly message: string; readonly data: TransactionResult; readonly warnings?: readonly (Warning)[] | undefined };

export type TransactionOperation = { readonly id?: string | undefined; readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"; readonly path: string; readonly if_match?: string | undefined; readonly body?: unknown | undefined };

export type TransactionResult = { readonly operations: readonly (TransactionAnswer)[] };

export type TreeRevision = { readonly id: string; readonly revision: string; readonly is_current: boolean; readonly traffic_weight: number; readonly traffic_share: number; readonly breaker: "closed" | "open" | "half_open" | null; readonly health: TreeRevisionHealth | null; readonly backend: string; readonly targets: TreeTargets | null; readonly endpoints: number; readonly has_policy: boolean; readonly updated_at: string };

export type TreeRevisionHealth = { readonly consecutive_failures: number; readonly probing: "off" | "while_open" | "always"; readonly last_error: RevisionLastError | null; readonly last_probe: RevisionProbe | null };

export type TreeTargets = { readonly total: number; readonly in_service: number | null; readonly source: string | null };

export type TreeVersion = { readonly id: string; readonly version: string; readonly gateway_path: string; readonly status: "active" | "deprecated" | "retired"; readonly sunset_at: string | null; readonly deprecated_at: string | null; readonly successor: string | null; readonly endpoints: number; readonly revisions_total: number; readonly revisions: readonly (TreeRevision)[] };

export type TreeVersionList = { readonly status: number; readonly message: string; readonly data: readonly (TreeVersion)[]; readonly page: Page };

export type TryDenial = { readonly code: string | null; readonly stage: string | null; readonly detail: string | null; readonly fix: string | null };

export type TryEnvelope = { readonly status: number; readonly message: string; readonly data: TryOutcome; readonly warnings?: readonly (Warning)[] | undefined };

export type TryInput = { readonly method: string; readonly path: string; readonly host?: string | undefined; readonly headers?: readonly (readonly (string)[])[] | undefined; readonly body?: string | undefined; readonly timeout_ms?: number | undefined };

export type TryOutcome = { readonly url: string; readonly status: number | null; readonly headers: readonly (readonly (string)[])[]; readonly body: string; readonly body_encoding: "text" | "base64"; readonly truncated: boolean; readonly problem: string | null; readonly duration_ms: number; readonly request_id: string | null; readonly client_address: string | null; readonly denial: TryDenial | null };

export type Version = { readonly id: string; readonly created_at: string; readonly updated_at: string; readonly app_id: string; readonly version: string; readonly gateway_path: string; readonly gateway_path_is_default: boolean; readonly status: "active" | "deprecated" | "retired"; readonly sunset_at: string | null; readonly deprecated_at: string | null; readonly successor: string | null };

export type VersionEnvelope = { readonly status: number; readonly message: string; readonly data: Version; readonly warnings?: readonly (Warning)[] | undefined };

export type VersionInput = { readonly version: string; readonly gateway_path?: string | undefined; readonly status?: "active" | "deprecated" | "retired" | undefined; readonly sunset_at?: string | null | undefined; readonly deprecated_at?: string | null | undefined; readonly successor?: string | null | undefined };

export type VersionList = { readonly status: number; readonly message: string; readonly data: readonly (Version)[]; readonly page: Page };

export type VersionOutcome = { readonly config_version: number; readonly outcome: string; readonly status: number | null; readonly code: string | null; readonly stage: string | null; readonly detail: string | null; readonly upstream_url: string | null };

export type VersionPatch = { readonly version?: string | null | undefined; readonly gateway_path?: string | null | undefined; readonly status?: "active" | "deprecated" | "retired" | null | undefined; readonly sunset_at?: string | null | undefined; readonly deprecated_at?: string | null | undefined; readonly successor?: string | null | undefined };

export type VersionSegment = { readonly from_version: number; readonly to_version: number; readonly outcome: OutcomeAtVersion; readonly same_as_now: boolean; readonly exact: boolean; readonly at: string | null; readonly actor: string | null; readonly source: string | null; readonly action: string | null; readonly message: string | null };

export type Warning = { readonly pointer: string; readonly code: WarningCode; readonly detail: string };

export type WarningCode = "jwt_without_keys" | "trusted_certificates_missing" | "trusted_certificates_problem" | "mtls_without_tls" | "scopes_without_auth" | "scopes_without_holder" | "scope_with_space" | "endpoint_method_not_allowed" | "ip_access_denies_all" | "limit_without_caller" | "rate_limit_not_enabled" | "cors_without_origins" | "shadow_part_not_set" | "host_without_certificate" | "host_wildcard_without_certificate" | "host_shadowed" | "sunset_in_past" | "sunset_not_deprecated" | "no_active_endpoint" | "all_weights_zero" | "no_current_revision" | "shares_traffic" | "version_is_retired" | "scheme_and_port_differ" | "tls_settings_unused" | "authority_not_used" | "grpc_web_without_http2" | "client_certificate_missing" | "discovery_folder_not_set" | "literal_colon" | "endpoint_repeats_gateway_path" | "key_expired" | "key_disabled" | "webhook_without_tls" | "webhook_repeated";

export type Webhook = { readonly id: string; readonly created_at: string; readonly updated_at: string; readonly name: string; readonly url: string; readonly events: readonly (string)[]; readonly app_ids: readonly (string)[]; readonly is_active: boolean; readonly disabled_reason: string | null; readonly previous_secret_expires_at: string | null };

export type WebhookCreation = { readonly name: string; readonly url: string; readonly events?: readonly (string)[] | undefined; readonly app_ids?: readonly (string)[] | undefined; readonly is_active?: boolean | undefined; readonly secret?: string | undefined };

export type WebhookDelivery = { readonly webhook_id: string; readonly name: string; readonly state: "ok" | "failing" | "disabled"; readonly sender: string | null; readonly waiting: number; readonly delivered: number; readonly dead_letters: number; readonly failures: number; readonly last_error: string | null; readonly last_failed_at: string | null; readonly last_delivered_at: string | null; readonly next_try_at: string | null };

export type WebhookDeliveryList = { readonly status: number; readonly message: string; readonly data: readonly (WebhookDelivery)[]; readonly page: Page };

export type WebhookEnvelope = { readonly status: number; readonly message: string; readonly data: Webhook; readonly warnings?: readonly (Warning)[] | undefined };

export type WebhookInput = { readonly name: string; readonly url: string; readonly events?: readonly (string)[] | undefined; readonly app_ids?: readonly (string)[] | undefined; readonly is_active?: boolean | undefined };

export type WebhookList = { readonly status: number; readonly message: string; readonly data: readonly (Webhook)[]; readonly page: Page };

export type WebhookPatch = { readonly name?: string | null | undefined; readonly url?: string | null | undefined; readonly events?: readonly (string)[] | null | undefined; readonly app_ids?: readonly (string)[] | null | undefined; readonly is_active?: boolean | null | undefined };

export type WebhookRotation = { readonly overlap_secs?: number | undefined; readonly secret?: string | undefined };

export type WebhookTest = { readonly event_id: string; readonly is_delivered: boolean; readonly status: number | null; readonly latency_ms: number; readonly error: string | null };

export type WebhookTestEnvelope = { readonly status: number; readonly message: string; readonly data: WebhookTest; readonly warnings?: readonly (Warning)[] | undefined };

export type WorkerCounts = { readonly listening: number; readonly configured: number };

/** Of a call without parameters. */
export type NoFields = Readonly<Record<never, never>>;

/** By method and path below /api/v1; `result` is the body of the success, `undefined` where there is none. */
export interface Operations {
  'POST /apps': { path: NoFields; query: { readonly dry_run?: boolean | undefined }; body: AppInput; result: AppEnvelope };
  'GET /apps': { path: NoFields; query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly order?: "oldest_first" | "newest_first" | undefined; readonly label?: readonly (string)[] | undefined; readonly q?: string | undefined; readonly updated_since?: string | undefined }; body: undefined; result: AppList };
  'GET /apps/{app_id}': { path: { readonly app_id: string }; query: NoFields; body: undefined; result: AppEnvelope };
  'PUT /apps/{app_id}': { path: { readonly app_id: string }; query: { readonly dry_run?: boolean | undefined }; body: AppInput; result: AppEnvelope };
  'PATCH /apps/{app_id}': { path: { readonly app_id: string }; query: { readonly dry_run?: boolean | undefined }; body: AppPatch; result: AppEnvelope };
  'DELETE /apps/{app_id}': { path: { readonly app_id: string }; query: { readonly cascade?: boolean | undefined; readonly dry_run?: boolean | undefined }; body: undefined; result: undefined };
  'GET /apps/{app_id}/tree': { path: { readonly app_id: string }; query: { readonly limit?: number | undefined; readonly cursor?: string | undefined }; body: undefined; result: TreeVersionList };
  'POST /apps/{app_id}/versions': { path: { readonly app_id: string }; query: { readonly dry_run?: boolean | undefined }; body: VersionInput; result: VersionEnvelope };
  'GET /apps/{app_id}/versions': { path: { readonly app_id: string }; query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly order?: "oldest_first" | "newest_first" | undefined; readonly q?: string | undefined; readonly status?: "active" | "deprecated" | "retired" | undefined; readonly updated_since?: string | undefined }; body: undefined; result: VersionList };
  'GET /apps/{app_id}/versions/{version_id}': { path: { readonly app_id: string; readonly version_id: string }; query: NoFields; body: undefined; result: VersionEnvelope };
  'PUT /apps/{app_id}/versions/{version_id}': { path: { readonly app_id: string; readonly version_id: string }; query: { readonly dry_run?: boolean | undefined }; body: VersionInput; result: VersionEnvelope };
  'PATCH /apps/{app_id}/versions/{version_id}': { path: { readonly app_id: string; readonly version_id: string }; query: { readonly dry_run?: boolean | undefined }; body: VersionPatch; result: VersionEnvelope };
  'DELETE /apps/{app_id}/versions/{version_id}': { path: { readonly app_id: string; readonly version_id: string }; query: { readonly cascade?: boolean | undefined; readonly dry_run?: boolean | undefined }; body: undefined; result: undefined };
  'GET /apps/{app_id}/versions/{version_id}/traffic': { path: { readonly app_id: string; readonly version_id: string }; query: NoFields; body: undefined; result: TrafficEnvelope };
  'PUT /apps/{app_id}/versions/{version_id}/traffic': { path: { readonly app_id: string; readonly version_id: string }; query: { readonly dry_run?: boolean | undefined }; body: Traffic; result: TrafficEnvelope };
  'POST /apps/{app_id}/versions/{version_id}/revisions': { path: { readonly app_id: string; readonly version_id: string }; query: { readonly dry_run?: boolean | undefined }; body: RevisionCreation; result: RevisionEnvelope };
  'GET /apps/{app_id}/versions/{version_id}/revisions': { path: { readonly app_id: string; readonly version_id: string }; query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly order?: "oldest_first" | "newest_first" | undefined; readonly q?: string | undefined; readonly status?: "current" | "not_current" | undefined; readonly updated_since?: string | undefined }; body: undefined; result: RevisionList };
  'GET /apps/{app_id}/versions/{version_id}/revisions/{revision_id}': { path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string }; query: NoFields; body: undefined; result: RevisionEnvelope };
  'PUT /apps/{app_id}/versions/{version_id}/revisions/{revision_id}': { path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string }; query: { readonly dry_run?: boolean | undefined }; body: RevisionInput; result: RevisionEnvelope };
  'PATCH /apps/{app_id}/versions/{version_id}/revisions/{revision_id}': { path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string }; query: { readonly dry_run?: boolean | undefined }; body: RevisionPatch; result: RevisionEnvelope };
  'DELETE /apps/{app_id}/versions/{version_id}/revisions/{revision_id}': { path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string }; query: { readonly cascade?: boolean | undefined; readonly dry_run?: boolean | undefined }; body: undefined; result: undefined };
  'POST /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/activate': { path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string }; query: { readonly dry_run?: boolean | undefined }; body: ActivateInput; result: RevisionEnvelope };
  'POST /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/deactivate': { path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string }; query: { readonly dry_run?: boolean | undefined }; body: undefined; result: RevisionEnvelope };
  'GET /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/breaker': { path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string }; query: NoFields; body: undefined; result: BreakerEnvelope };
  'GET /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/health': { path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string }; query: NoFields; body: undefined; result: RevisionHealthEnvelope };
  'POST /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/endpoints': { path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string }; query: { readonly dry_run?: boolean | undefined }; body: EndpointInput; result: EndpointEnvelope };
  'GET /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/endpoints': { path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string }; query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly order?: "oldest_first" | "newest_first" | undefined; readonly q?: string | undefined; readonly status?: "active" | "inactive" | undefined; readonly updated_since?: string | undefined }; body: undefined; result: EndpointList };
  'GET /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/endpoints/{endpoint_id}': { path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string; readonly endpoint_id: string }; query: NoFields; body: undefined; result: EndpointEnvelope };
  'PUT /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/endpoints/{endpoint_id}': { path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string; readonly endpoint_id: string }; query: { readonly dry_run?: boolean | undefined }; body: EndpointInput; result: EndpointEnvelope };
  'PATCH /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/endpoints/{endpoint_id}': { path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string; readonly endpoint_id: string }; query: { readonly dry_run?: boolean | undefined }; body: EndpointPatch; result: EndpointEnvelope };
  'DELETE /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/endpoints/{endpoint_id}': { path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string; readonly endpoint_id: string }; query: { readonly dry_run?: boolean | undefined }; body: undefined; result: undefined };
  'GET /apps/{app_id}/effective-policy': { path: { readonly app_id: string }; query: NoFields; body: undefined; result: EffectivePolicyEnvelope };
  'GET /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/effective-policy': { path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string }; query: NoFields; body: undefined; result: EffectivePolicyEnvelope };
  'GET /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/endpoints/{endpoint_id}/effective-policy': { path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string; readonly endpoint_id: string }; query: NoFields; body: undefined; result: EffectivePolicyEnvelope };
  'GET /apps/{app_id}/shadow-report': { path: { readonly app_id: string }; query: { readonly from?: string | undefined; readonly part?: "auth" | "required_scopes" | "allowed_methods" | "ip_access" | "concurrency" | "rate_limit" | "cors" | "max_body_bytes" | undefined; readonly endpoint_id?: string | undefined; readonly limit?: number | undefined; readonly keys?: number | undefined }; body: undefined; result: ShadowReportEnvelope };
  'DELETE /apps/{app_id}/shadow-report': { path: { readonly app_id: string }; query: NoFields; body: undefined; result: undefined };
  'POST /apps/{app_id}/tokens': { path: { readonly app_id: string }; query: { readonly dry_run?: boolean | undefined }; body: TokenCreation; result: CreatedTokenEnvelope };
  'GET /apps/{app_id}/tokens': { path: { readonly app_id: string }; query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly order?: "oldest_first" | "newest_first" | undefined; readonly q?: string | undefined; readonly status?: "active" | "revoked" | "expired" | undefined; readonly updated_since?: string | undefined }; body: undefined; result: TokenList };
  'GET /apps/{app_id}/tokens/{token_id}': { path: { readonly app_id: string; readonly token_id: string }; query: NoFields; body: undefined; result: TokenEnvelope };
  'PUT /apps/{app_id}/tokens/{token_id}': { path: { readonly app_id: string; readonly token_id: string }; query: { readonly dry_run?: boolean | undefined }; body: TokenInput; result: TokenEnvelope };
  'PATCH /apps/{app_id}/tokens/{token_id}': { path: { readonly app_id: string; readonly token_id: string }; query: { readonly dry_run?: boolean | undefined }; body: TokenPatch; result: TokenEnvelope };
  'DELETE /apps/{app_id}/tokens/{token_id}': { path: { readonly app_id: string; readonly token_id: string }; query: { readonly dry_run?: boolean | undefined }; body: undefined; result: undefined };
  'POST /apps/{app_id}/tokens/{token_id}/rotate': { path: { readonly app_id: string; readonly token_id: string }; query: NoFields; body: RotateInput; result: CreatedTokenEnvelope };
  'GET /apps/{app_id}/tokens/{token_id}/usage': { path: { readonly app_id: string; readonly token_id: string }; query: { readonly from?: string | undefined; readonly to?: string | undefined }; body: undefined; result: TokenUsageEnvelope };
  'POST /tokens/introspect': { path: NoFields; query: NoFields; body: TokenIntrospectionInput; result: TokenIntrospectionEnvelope };
  'POST /admin/tokens': { path: NoFields; query: NoFields; body: AdminTokenInput; result: CreatedAdminTokenEnvelope };
  'GET /admin/tokens': { path: NoFields; query: { readonly limit?: number | undefined; readonly cursor?: string | undefined }; body: undefined; result: AdminTokenList };
  'GET /admin/tokens/{admin_token_id}': { path: { readonly admin_token_id: string }; query: NoFields; body: undefined; result: AdminTokenEnvelope };
  'DELETE /admin/tokens/{admin_token_id}': { path: { readonly admin_token_id: string }; query: NoFields; body: undefined; result: undefined };
  'GET /sign-in': { path: NoFields; query: NoFields; body: undefined; result: SignInOptionsEnvelope };
  'POST /session': { path: NoFields; query: NoFields; body: SignIn; result: SignedInEnvelope };
  'GET /session': { path: NoFields; query: NoFields; body: undefined; result: CurrentSessionEnvelope };
  'DELETE /session': { path: NoFields; query: NoFields; body: undefined; result: undefined };
  'GET /sessions': { path: NoFields; query: { readonly limit?: number | undefined; readonly cursor?: string | undefined }; body: undefined; result: SessionList };
  'DELETE /sessions/{session_id}': { path: { readonly session_id: string }; query: NoFields; body: undefined; result: undefined };
  'GET /audit': { path: NoFields; query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly order?: "oldest_first" | "newest_first" | undefined; readonly actor?: string | undefined; readonly action?: string | undefined; readonly resource_type?: string | undefined; readonly resource_id?: string | undefined; readonly resource_name?: string | undefined; readonly since?: string | undefined; readonly until?: string | undefined }; body: undefined; result: AuditEntryList };
  'POST /webhooks': { path: NoFields; query: NoFields; body: WebhookCreation; result: CreatedWebhookEnvelope };
  'GET /webhooks': { path: NoFields; query: { readonly limit?: number | undefined; readonly cursor?: string | undefined }; body: undefined; result: WebhookList };
  'GET /webhooks/{webhook_id}': { path: { readonly webhook_id: string }; query: NoFields; body: undefined; result: WebhookEnvelope };
  'PUT /webhooks/{webhook_id}': { path: { readonly webhook_id: string }; query: NoFields; body: WebhookInput; result: WebhookEnvelope };
  'PATCH /webhooks/{webhook_id}': { path: { readonly webhook_id: string }; query: NoFields; body: WebhookPatch; result: WebhookEnvelope };
  'DELETE /webhooks/{webhook_id}': { path: { readonly webhook_id: string }; query: NoFields; body: undefined; result: undefined };
  'POST /webhooks/{webhook_id}/rotate': { path: { readonly webhook_id: string }; query: NoFields; body: WebhookRotation; result: CreatedWebhookEnvelope };
  'GET /webhook-deliveries': { path: NoFields; query: NoFields; body: undefined; result: WebhookDeliveryList };
  'POST /webhooks/{webhook_id}/test': { path: { readonly webhook_id: string }; query: NoFields; body: undefined; result: WebhookTestEnvelope };
  'GET /webhooks/{webhook_id}/dead-letters': { path: { readonly webhook_id: string }; query: { readonly limit?: number | undefined; readonly cursor?: string | undefined }; body: undefined; result: DeadLetterList };
  'DELETE /webhooks/{webhook_id}/dead-letters': { path: { readonly webhook_id: string }; query: NoFields; body: undefined; result: DeadLetterCountEnvelope };
  'POST /webhooks/{webhook_id}/resend': { path: { readonly webhook_id: string }; query: NoFields; body: undefined; result: DeadLetterCountEnvelope };
  'POST /webhooks/{webhook_id}/dead-letters/{event_id}/resend': { path: { readonly webhook_id: string; readonly event_id: string }; query: NoFields; body: undefined; result: DeadLetterCountEnvelope };
  'DELETE /webhooks/{webhook_id}/dead-letters/{event_id}': { path: { readonly webhook_id: string; readonly event_id: string }; query: NoFields; body: undefined; result: DeadLetterCountEnvelope };
  'GET /config': { path: NoFields; query: { readonly app?: string | undefined; readonly owner?: string | undefined; readonly version?: number | undefined }; body: undefined; result: ConfigEnvelope };
  'GET /config/schema': { path: NoFields; query: NoFields; body: undefined; result: Readonly<Record<string, unknown>> };
  'POST /config/plan': { path: NoFields; query: NoFields; body: ConfigPlan; result: ConfigPlanEnvelope };
  'POST /config/apply': { path: NoFields; query: NoFields; body: ConfigApply; result: ConfigAppliedEnvelope };
  'GET /config/file': { path: NoFields; query: NoFields; body: undefined; result: ConfigFileEnvelope };
  'POST /import/openapi': { path: NoFields; query: NoFields; body: OpenApiImportInput; result: OpenApiImportEnvelope };
  'POST /config/bisect': { path: NoFields; query: NoFields; body: ConfigBisect; result: ConfigBisectEnvelope };
  'GET /config/backup': { path: NoFields; query: NoFields; body: undefined; result: string };
  'GET /config/versions': { path: NoFields; query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly actor?: string | undefined; readonly source?: string | undefined; readonly app?: string | undefined; readonly since?: string | undefined; readonly until?: string | undefined }; body: undefined; result: ConfigVersionList };
  'GET /config/versions/diff': { path: NoFields; query: { readonly from?: number | undefined; readonly to?: number | undefined; readonly app?: string | undefined }; body: undefined; result: ConfigDiffEnvelope };
  'GET /config/versions/{config_version}': { path: { readonly config_version: string }; query: { readonly limit?: number | undefined; readonly cursor?: string | undefined }; body: undefined; result: ConfigVersionEnvelope };
  'POST /config/versions/{config_version}/rollback': { path: { readonly config_version: string }; query: NoFields; body: RollbackInput; result: RollbackEnvelope };
  'GET /explain/sampling': { path: NoFields; query: NoFields; body: undefined; result: SamplingEnvelope };
  'PUT /explain/sampling': { path: NoFields; query: NoFields; body: SamplingInput; result: SamplingEnvelope };
  'DELETE /explain/sampling': { path: NoFields; query: NoFields; body: undefined; result: undefined };
  'GET /explain/debug-tokens': { path: NoFields; query: NoFields; body: undefined; result: DebugTokensEnvelope };
  'POST /explain/debug-tokens': { path: NoFields; query: NoFields; body: DebugTokenInput; result: CreatedDebugTokenEnvelope };
  'DELETE /explain/debug-tokens/{debug_token_id}': { path: { readonly debug_token_id: string }; query: NoFields; body: undefined; result: undefined };
  'POST /config/explain': { path: NoFields; query: NoFields; body: ExplainVersions; result: ExplainVersionsEnvelope };
  'POST /explain': { path: NoFields; query: NoFields; body: ExplainInput; result: ExplanationEnvelope };
  'GET /explain/{request_id}': { path: { readonly request_id: string }; query: NoFields; body: undefined; result: ExplanationEnvelope };
  'POST /try': { path: NoFields; query: NoFields; body: TryInput; result: TryEnvelope };
  'GET /live': { path: NoFields; query: { readonly app?: string | undefined; readonly status?: string | undefined; readonly key?: string | undefined; readonly path?: string | undefined; readonly method?: string | undefined; readonly reason?: "bad_request" | "bad_path" | "request_timeout" | "body_too_large" | "target_too_long" | "expectation_failed" | "header_too_large" | "not_implemented" | "http_version_not_supported" | "no_route" | "endpoint_not_found" | "endpoint_disabled" | "version_retired" | "no_revision" | "credentials_missing" | "credentials_invalid" | "insufficient_scope" | "missing_claim" | "method_not_allowed" | "concurrency_limited" | "rate_limited" | "too_many_auth_failures" | "upstream_connect_failed" | "upstream_denied" | "upstream_reset" | "upstream_bad_response" | "circuit_open" | "no_targets" | "jwt_keys_unavailable" | "overloaded" | "upstream_timeout" | "loop_detected" | "invalid_json" | "invalid_query" | "unauthenticated" | "forbidden" | "cross_site_request" | "sign_in_failed" | "sign_in_forbidden" | "identity_provider_failed" | "csrf_token_invalid" | "not_found" | "management_method_not_allowed" | "conflict" | "configuration_from_file" | "has_children" | "config_version_gone" | "precondition_failed" | "payload_too_large" | "too_many_sessions" | "unsupported_media_type" | "validation_failed" | "profile_failed" | "handing_over" | "storage_unavailable" | "internal_error" | "certificate_missing" | "certificate_invalid" | "misdirected_request" | "ip_denied" | undefined; readonly per_second?: number | undefined }; body: undefined; result: LiveEvent };
  'GET /live/{live_id}': { path: { readonly live_id: string }; query: NoFields; body: undefined; result: ExplanationEnvelope };
  'GET /events': { path: NoFields; query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly order?: "oldest_first" | "newest_first" | undefined; readonly type?: string | undefined; readonly app?: string | undefined; readonly since?: string | undefined; readonly until?: string | undefined }; body: undefined; result: EventList };
  'GET /health': { path: NoFields; query: NoFields; body: undefined; result: HealthEnvelope };
  'GET /nodes': { path: NoFields; query: NoFields; body: undefined; result: NodesEnvelope };
  'GET /state': { path: NoFields; query: NoFields; body: undefined; result: StateEnvelope };
  'GET /certificates': { path: NoFields; query: { readonly limit?: number | undefined; readonly cursor?: string | undefined }; body: undefined; result: CertificateList };
  'POST /certificates/{name}/renew': { path: { readonly name: string }; query: NoFields; body: undefined; result: CertificateEnvelope };
  'GET /settings': { path: NoFields; query: { readonly changed?: boolean | undefined }; body: undefined; result: SettingsEnvelope };
  'GET /secrets': { path: NoFields; query: NoFields; body: undefined; result: SecretsEnvelope };
  'POST /secrets/rekey': { path: NoFields; query: NoFields; body: undefined; result: RekeyedSecretsEnvelope };
  'GET /search': { path: NoFields; query: { readonly q?: string | undefined; readonly limit?: number | undefined }; body: undefined; result: SearchEnvelope };
  'GET /stats': { path: NoFields; query: { readonly window?: "15m" | "24h" | undefined; readonly app?: string | undefined; readonly version?: string | undefined; readonly route?: string | undefined; readonly step?: number | undefined; readonly since?: string | undefined }; body: undefined; result: StatsEnvelope };
  'GET /stats/top': { path: NoFields; query: { readonly by?: "app" | "version" | "route" | "reason" | "key" | undefined; readonly window?: "15m" | "24h" | undefined; readonly app?: string | undefined; readonly limit?: number | undefined }; body: undefined; result: StatsTopEnvelope };
  'GET /problems': { path: NoFields; query: NoFields; body: undefined; result: ProblemsEnvelope };
  'POST /profiles': { path: NoFields; query: NoFields; body: ProfileInput; result: Readonly<Record<string, unknown>> };
  'POST /transaction': { path: NoFields; query: { readonly dry_run?: boolean | undefined }; body: Transaction; result: TransactionEnvelope };
}
