/**
 * `POST /api/v1/import/openapi`: the configuration that `headgate import openapi` would create from a description,
 * and notes about what could not be imported. Writes nothing: the client plans and applies the configuration.
 * References to other documents are not followed, so nothing is fetched.
 */
import { Type, type Static } from 'typebox';
import { FOREIGN_DEPTH_MAX } from '../../declaration/foreign-limits.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import { SLUG_PATTERN } from '../../model/patterns.ts';
import { closed } from '../../model/schema-pieces.ts';
import type { ConfigReader } from '../../storage/repository.ts';
import { Admission } from '../api/admission.ts';
import { answer, invalid } from '../api/failure.ts';
import { API_PREFIX, type Operation } from '../api/operation.ts';
import { NO_QUERY } from '../api/query.ts';
import type { ManagementContext } from '../context.ts';
import { treeOf } from '../declaration/tree.ts';
import { NOTES_MAX, YAML_BYTES_MAX } from './conversion-job.ts';
import { label, path } from '../schemas/common.ts';
import { envelopeSchema } from '../schemas/envelope.ts';

/** The command line converts larger ones, outside the gateway. */
const BODY_BYTES_MAX = 4 * 1024 * 1024;
const IMPORTS_MAX = 4;

const ImportInputSchema = Type.Object(
  {
    document: Type.Unknown({
      description: `The description (OpenAPI 2.0, 3.0 or 3.1): an object, or its text in JSON or YAML. YAML of at most ${YAML_BYTES_MAX / 1024} KiB; at most ${FOREIGN_DEPTH_MAX} levels. A description that takes more than a few seconds to convert is refused.`,
    }),
    app: Type.String({
      pattern: SLUG_PATTERN,
      description: 'Slug of the app that gets the endpoints; created if it does not exist.',
    }),
    version: Type.Optional(
      label('Version of the app. Default: `v` and the major version of the description.'),
    ),
    revision: Type.Optional(label('Revision that gets the endpoints. Default: `r1`.')),
    gateway_path: Type.Optional(path('Path of a new app. Default: `/` and its slug.')),
    backend: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2_048,
        description: 'URL of the backend of a new revision. Default: the first server of the description.',
      }),
    ),
    security: Type.Optional(
      Type.Boolean({ default: false, description: 'Convert the security of operations to policies.' }),
    ),
  },
  { ...closed, title: 'OpenApiImportInput' },
);
type ImportInput = Static<typeof ImportInputSchema>;

const ImportedSchema = Type.Object(
  {
    config: Type.Unknown({
      description: 'The app as a declared tree, for `POST /config/plan` and `POST /config/apply`.',
    }),
    base_version: Type.Integer({
      minimum: 0,
      description:
        'The config version in which the app was read, or did not exist, for `base_version` of an apply: without it, an apply undoes what others have changed since.',
    }),
    operations: Type.Integer({ minimum: 0, description: 'Number of operations of the description.' }),
    notes: Type.Array(Type.String(), {
      description: `What could not be carried over, with the reason; at most ${NOTES_MAX}.`,
    }),
    notes_total: Type.Integer({
      minimum: 0,
      description: 'Number of all notes, including those that are not listed.',
    }),
  },
  { ...closed, title: 'OpenApiImport' },
);

export function importOperation({ repository, convertDescription }: ManagementContext): Operation {
  const admission = new Admission(IMPORTS_MAX);
  return {
    method: 'POST',
    path: `${API_PREFIX}/import/openapi`,
    operationId: 'importOpenApi',
    tag: 'Configuration',
    summary: 'Convert an OpenAPI description to a configuration',
    description:
      'Writes nothing. The result is based on the present app: endpoints that the description no longer contains become inactive. References within the document are followed, others are not.',
    access: 'editor',
    query: NO_QUERY,
    body: {
      schema: jsonSchema(ImportInputSchema),
      required: true,
      mergePatch: false,
      example: {
        app: 'billing',
        backend: 'https://billing.internal',
        document: {
          openapi: '3.1.0',
          info: { title: 'Billing', version: '1.0' },
          paths: { '/invoices': { get: {} } },
        },
      },
    },
    bodyBytesMax: BODY_BYTES_MAX,
    admission,
    entityTag: false,
    success: {
      status: 200,
      description: 'The configuration, and what could not be carried over',
      schema: jsonSchema(envelopeSchema('OpenApiImportEnvelope', ImportedSchema)),
    },
    failures: ['overloaded'],
    handle: ({ body }) =>
      admission.runAlone(async () => {
        const input = body as ImportInput;
        const known = await repository.read((reader) => knownApp(reader, input.app));
        const made = await convertDescription({ ...input, known: known.app });
        if ('problem' in made) return invalid([{ pointer: `/${made.field}`, detail: made.problem }]);
        return answer(200, 'Description converted', { ...made, base_version: known.version });
      }),
  };
}

interface KnownApp {
  /** undefined: it does not exist. */
  readonly app: Readonly<Record<string, unknown>> | undefined;
  readonly version: number;
}

/** The app as it is declared, without its keys, which an import does not change. */
async function knownApp(reader: ConfigReader, slug: string): Promise<KnownApp> {
  const version = await reader.configVersion();
  const found = await reader.findApp(slug);
  const tree = found?.slug === slug ? await reader.loadAppTree(found.id) : undefined;
  if (tree === undefined) return { app: undefined, version };
  const { apps = {} } = treeOf([{ tree, keys: [] }]) as {
    readonly apps?: Record<string, NonNullable<KnownApp['app']>>;
  };
  const { keys: _keys, ...app } = apps[slug] ?? {};
  return { app, version };
}
