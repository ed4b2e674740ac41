/** The schemas that give `field=value` its types. Loaded when a command needs one: loading takes noticeably long. */
import { DebugTokenInputSchema, SamplingInputSchema } from '../../explain/setup/setup-schema.ts';
import { AdminTokenInputSchema } from '../../management/schemas/admin-token.ts';
import { ApiKeyCreationSchema } from '../../management/schemas/api-key.ts';
import { AppInputSchema } from '../../management/schemas/app.ts';
import { EndpointInputSchema } from '../../management/schemas/endpoint.ts';
import { WebhookCreationSchema } from '../../management/schemas/events/webhook.ts';
import { RevisionCreationSchema, TrafficSchema } from '../../management/schemas/revision.ts';
import { VersionInputSchema } from '../../management/schemas/version.ts';
import { jsonSchema, type JsonSchema } from '../../model/json-schema.ts';
import type { BodySchema } from './everyday-command.ts';

export const BODY_SCHEMAS: Readonly<Record<BodySchema, JsonSchema>> = {
  app: jsonSchema(AppInputSchema),
  version: jsonSchema(VersionInputSchema),
  revision: jsonSchema(RevisionCreationSchema),
  endpoint: jsonSchema(EndpointInputSchema),
  key: jsonSchema(ApiKeyCreationSchema),
  'admin-token': jsonSchema(AdminTokenInputSchema),
  traffic: jsonSchema(TrafficSchema),
  webhook: jsonSchema(WebhookCreationSchema),
  sampling: jsonSchema(SamplingInputSchema),
  'debug-token': jsonSchema(DebugTokenInputSchema),
};
