/** The settings of the process in force: the answer of `GET /api/v1/settings`. */
import { Type, type Static } from 'typebox';
import { closed, nullable, oneOf } from '../../../model/schema-pieces.ts';

const value = (description: string) =>
  Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Array(Type.String()), Type.Null()], {
    description,
  });

const SettingSchema = Type.Object(
  {
    name: Type.String({ description: 'Name of the environment variable.' }),
    group: Type.String({ description: 'Title of its section in the docs.' }),
    type: Type.String({ description: 'Kind of value, in words.' }),
    value: value(
      'Value in force. null: unset. `***`: a secret that is set; credentials in URLs are masked in the same way.',
    ),
    default: value('Default value. null: the setting has none, or `default_text` describes it.'),
    default_text: nullable(
      Type.String({ description: 'The default in words. null: `default` contains it.' }),
    ),
    source: oneOf(['default', 'environment'], { description: 'Where the value comes from.' }),
    secret: Type.Boolean({ description: 'Whether the value is never shown.' }),
    unit: nullable(Type.String({ description: 'Unit, for example `milliseconds`. null: it has none.' })),
    doc: Type.String({ description: 'What the setting does, for people; code is in backquotes.' }),
  },
  { ...closed, title: 'Setting' },
);

export const SettingsSchema = Type.Object(
  { items: Type.Array(SettingSchema, { description: 'All settings, in the order of the docs.' }) },
  { ...closed, title: 'Settings' },
);

export type SettingView = Static<typeof SettingSchema>;
