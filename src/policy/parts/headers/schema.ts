/** Schema of the policy part `headers`, and the types that follow from it. */
import { Type, type Static } from 'typebox';
import { closed } from '../../../model/schema-pieces.ts';

/** Maximum number of names in each list. */
const NAMES_MAX = 32;

const fieldName = Type.String({ minLength: 1, maxLength: 256 });
const template = Type.String({ minLength: 1, maxLength: 2048 });

const values = (description: string) =>
  Type.Optional(Type.Record(fieldName, template, { maxProperties: NAMES_MAX, description }));

const edits = (description: string) =>
  Type.Optional(
    Type.Object(
      {
        set: values('Names and values. They replace the fields of the message with these names.'),
        add: values('Names and values. They are added; the fields of the message with these names stay.'),
        remove: Type.Optional(
          Type.Array(fieldName, {
            maxItems: NAMES_MAX,
            uniqueItems: true,
            description: 'Names of fields that are not passed on.',
          }),
        ),
        rename: Type.Optional(
          Type.Record(fieldName, fieldName, {
            maxProperties: NAMES_MAX,
            description: 'Names of fields, and the names under which they are passed on.',
          }),
        ),
      },
      { ...closed, description },
    ),
  );

export const HeadersSchema = Type.Object(
  {
    request: edits('Edits of the fields that the backend gets.'),
    response: edits('Edits of the fields that the client gets.'),
  },
  { ...closed, description: 'Header fields that are set, added, removed and renamed.' },
);

export type HeadersPolicy = Static<typeof HeadersSchema>;
export type FieldEdits = NonNullable<HeadersPolicy['request']>;
export type Direction = 'request' | 'response';
export const DIRECTIONS = ['request', 'response'] as const;
