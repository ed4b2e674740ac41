/** `GET /api/v1/settings`: the settings that the process was started with, which come in as data. */
import { Type } from 'typebox';
import { jsonSchema } from '../../../model/json-schema.ts';
import { closed } from '../../../model/schema-pieces.ts';
import { answer } from '../../api/failure.ts';
import { API_PREFIX, type Operation } from '../../api/operation.ts';
import type { ManagementContext } from '../../context.ts';
import { envelopeSchema } from '../../schemas/envelope.ts';
import { SettingsSchema } from '../../schemas/overview/setting-schema.ts';

const QUERY = jsonSchema(
  Type.Object(
    {
      changed: Type.Optional(
        Type.Boolean({ default: false, description: 'Only settings that do not have their default.' }),
      ),
    },
    closed,
  ),
);

export function settingsOperation(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${API_PREFIX}/settings`,
    operationId: 'getSettings',
    tag: 'Service',
    summary: 'The settings in force',
    description:
      'Shows the settings of the node that answers. Settings are read at its start: a change of the environment needs a restart. Secrets and credentials in URLs are masked. Paths of files are not masked.',
    access: 'viewer',
    query: QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'Every setting with its value, its default and its meaning',
      schema: jsonSchema(envelopeSchema('SettingsEnvelope', SettingsSchema)),
    },
    failures: [],
    handle: async ({ query }) => {
      const items = context.settings.filter(
        ({ source }) => query['changed'] !== true || source !== 'default',
      );
      return answer(200, 'Settings listed', { items });
    },
  };
}
