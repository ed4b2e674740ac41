/**
 * The schema of a declared configuration, built from the schemas of the resources, for the API, for `headgate config
 * validate` and for editors. Labels are member names, so they are not among the fields.
 */
import {
  ENDPOINT_LABEL_PATTERN,
  KEY_NAME_PATTERN,
  LABEL_PATTERN,
  SLUG_PATTERN,
} from '../../model/patterns.ts';
import type { JsonSchema } from '../../model/json-schema.ts';
import { alternativesOf, requireOneOf } from '../../model/json-schema.ts';
import { LEVELS, type LevelName } from './levels.ts';

const endpoint = itemSchema('endpoint', {});
const revision = itemSchema('revision', {
  endpoints: collection('endpoint', ENDPOINT_LABEL_PATTERN, endpoint),
});
const version = itemSchema('version', { revisions: collection('revision', LABEL_PATTERN, revision) });
const app = itemSchema('app', {
  versions: collection('version', LABEL_PATTERN, version),
  keys: collection('key', KEY_NAME_PATTERN, itemSchema('key', {})),
});

export const DOCUMENT_SCHEMA: JsonSchema = {
  type: 'object',
  title: 'Configuration',
  properties: {
    owner: {
      type: 'string',
      pattern: LABEL_PATTERN,
      description:
        'Owner of these apps, such as a team or a repository. It becomes the label `owner` of each app. An apply changes only apps with this owner, and deletes those that are left out.',
    },
    apps: collection('app', SLUG_PATTERN, app),
  },
  additionalProperties: false,
};

/** The same as a separate document, for editors and other programs. */
export function publishedSchema(): object {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...DOCUMENT_SCHEMA,
    title: 'Headgate configuration',
  };
}

function itemSchema(name: LevelName, below: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const { schema } = LEVELS[name];
  const item = {
    ...schema,
    title: `Declared${capital(name)}`,
    properties: { ...schema.properties, ...below },
  };
  return requireOneOf(item, alternativesOf(schema));
}

/** An item without fields may be written as null. */
function collection(name: LevelName, labelPattern: string, item: JsonSchema): JsonSchema {
  const mayBeEmpty = (item.required ?? []).length === 0 && alternativesOf(item) === undefined;
  return {
    type: 'object',
    description: LEVELS[name].description,
    patternProperties: { [labelPattern]: mayBeEmpty ? { anyOf: [item, { type: 'null' }] } : item },
    additionalProperties: false,
  };
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
