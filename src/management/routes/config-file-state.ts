/** `GET /api/v1/config/file`: whether the configuration files are in force. */
import { Type } from 'typebox';
import { jsonSchema } from '../../model/json-schema.ts';
import { closed, dateTime, nullable } from '../../model/schema-pieces.ts';
import { answer } from '../api/failure.ts';
import { API_PREFIX, type Operation } from '../api/operation.ts';
import { NO_QUERY } from '../api/query.ts';
import type { ManagementContext } from '../context.ts';
import { envelopeSchema } from '../schemas/envelope.ts';

const FileProblemSchema = Type.Object(
  {
    file: Type.String({ description: 'The file, below or equal to `path`.' }),
    line: Type.Integer({ minimum: 1, description: 'Line number, counted from 1.' }),
    column: Type.Integer({ minimum: 1, description: 'Column number, counted from 1.' }),
    pointer: Type.String({ description: 'RFC 6901 pointer to the value; empty for the whole file.' }),
    detail: Type.String({ description: 'What is wrong, for people.' }),
  },
  { ...closed, title: 'ConfigFileProblem' },
);

const ConfigFileSchema = Type.Object(
  {
    path: nullable(Type.String({ description: 'GATEWAY_CONFIG_FILE as an absolute path.' })),
    state: Type.String({
      description:
        '`current`: the files are in force. `refused`: they have problems, and the previous configuration stays in force. `none`: the configuration comes from a database.',
    }),
    loaded_at: nullable(dateTime('When the configuration in force was read from the files.')),
    problem_since: nullable(dateTime('Time since which the files have problems. null: they have none.')),
    problem_count: Type.Integer({
      minimum: 0,
      description: 'Number of all problems, including those that are not listed.',
    }),
    problems: Type.Array(FileProblemSchema, { description: 'The first 50 problems.' }),
  },
  { ...closed, title: 'ConfigFile' },
);

const MESSAGES = {
  none: 'The configuration comes from a database',
  current: 'The files are served',
  refused: 'The files have problems',
};

export function configFileOperation({ status }: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${API_PREFIX}/config/file`,
    operationId: 'getConfigFile',
    tag: 'Configuration',
    summary: 'State of the configuration files',
    description: 'Whether the files of `GATEWAY_CONFIG_FILE` are in force, and the problems in them.',
    access: 'admin',
    query: NO_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'The state',
      schema: jsonSchema(envelopeSchema('ConfigFileEnvelope', ConfigFileSchema)),
    },
    failures: [],
    handle: async () => {
      const file = status.configFile();
      const problem = file?.problem;
      const state = file === undefined ? 'none' : problem === undefined ? 'current' : 'refused';
      return answer(200, MESSAGES[state], {
        path: file?.path ?? null,
        state,
        loaded_at: file?.loadedAt ?? null,
        problem_since: problem?.since ?? null,
        problem_count: problem?.total ?? 0,
        problems: problem?.problems ?? [],
      });
    },
  };
}
