/**
 * Temporary requests of operators to explain, sampling and debug tokens, in bodies and answers of the management
 * API.
 */
import { Type, type Static } from 'typebox';
import { closed, dateTime, nullable } from '../../model/schema-pieces.ts';

const SECONDS_MAX = 3_600;
const appReference = Type.String({ maxLength: 64, description: 'Id or slug of an app; absent: all apps.' });
const appId = nullable(Type.String({ description: 'null: all apps.' }));

export const SamplingInputSchema = Type.Object(
  {
    app: Type.Optional(appReference),
    rate: Type.Optional(
      Type.Number({
        minimum: 0.001,
        maximum: 1,
        default: 1,
        description: 'Fraction of the exchanges to record.',
      }),
    ),
    seconds: Type.Integer({ minimum: 1, maximum: SECONDS_MAX, description: 'Duration in seconds.' }),
  },
  { ...closed, title: 'SamplingInput' },
);
export type SamplingInput = Static<typeof SamplingInputSchema>;

export const SamplingSchema = Type.Object(
  { app_id: appId, rate: Type.Number(), until: dateTime('When sampling ends.') },
  { ...closed, title: 'Sampling' },
);
export type SamplingState = Static<typeof SamplingSchema>;

export const DebugTokenInputSchema = Type.Object(
  {
    app: Type.Optional(appReference),
    seconds: Type.Integer({ minimum: 1, maximum: SECONDS_MAX, description: 'How long it is valid.' }),
  },
  { ...closed, title: 'DebugTokenInput' },
);
export type DebugTokenInput = Static<typeof DebugTokenInputSchema>;

const debugTokenFields = {
  id: Type.String({ format: 'uuid' }),
  app_id: appId,
  created_at: dateTime('Creation time.'),
  expires_at: dateTime('Expiry time.'),
};

export const DebugTokenSchema = Type.Object(debugTokenFields, { ...closed, title: 'DebugToken' });
export type DebugToken = Static<typeof DebugTokenSchema>;

export const CreatedDebugTokenSchema = Type.Object(
  {
    ...debugTokenFields,
    token: Type.String({ description: 'The token itself, which is never shown again.' }),
  },
  { ...closed, title: 'CreatedDebugToken' },
);
