/** Body and answer of `POST /api/v1/transaction`. */
import { Type } from 'typebox';
import { closed, nullable, oneOf } from '../../model/schema-pieces.ts';
import { API_PATH_PATTERN, OPERATION_ID_PATTERN } from '../../model/patterns.ts';

/** Operations of one transaction. */
export const OPERATIONS_MAX = 1_000;
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

const TransactionOperationSchema = Type.Object(
  {
    id: Type.Optional(
      Type.String({
        pattern: OPERATION_ID_PATTERN,
        description: 'Name by which later operations refer to the answer of this one, as in `${app.id}`.',
      }),
    ),
    method: oneOf(METHODS, { description: 'Method of the operation.' }),
    path: Type.String({
      pattern: API_PATH_PATTERN,
      maxLength: 4_096,
      description:
        'Path and query of the operation. They may contain references, whose values are percent-encoded.',
    }),
    if_match: Type.Optional(
      Type.String({
        maxLength: 1_024,
        description: 'Value of `If-Match`; 412 when the record has changed.',
      }),
    ),
    body: Type.Optional(
      Type.Unknown({
        description:
          'Body of the operation. Its texts may contain references; `$${` stands for the text `${`.',
      }),
    ),
  },
  { ...closed, title: 'TransactionOperation' },
);

export const TransactionSchema = Type.Object(
  {
    operations: Type.Array(TransactionOperationSchema, {
      minItems: 1,
      maxItems: OPERATIONS_MAX,
      description: 'The operations, in the order in which they run.',
    }),
  },
  { ...closed, title: 'Transaction' },
);

const TransactionAnswerSchema = Type.Object(
  {
    id: nullable(Type.String({ description: 'Id of the operation in the transaction. null: it has none.' })),
    operation: Type.String({ description: 'Operation id of this document, such as `createApp`.' }),
    status: Type.Integer({ description: 'Status of the operation.' }),
    etag: nullable(Type.String({ description: 'Its `ETag`.' })),
    location: nullable(Type.String({ description: 'Its `Location`.' })),
    body: nullable(
      Type.Unknown({
        description: 'Body of the answer. null: there is none. The values of new keys are shown only here.',
      }),
    ),
  },
  { ...closed, title: 'TransactionAnswer' },
);

export const TransactionResultSchema = Type.Object(
  {
    operations: Type.Array(TransactionAnswerSchema, {
      description: 'An answer for each operation, in order.',
    }),
  },
  { ...closed, title: 'TransactionResult' },
);

export interface TransactionOperation {
  readonly id?: string;
  readonly method: string;
  readonly path: string;
  readonly if_match?: string;
  readonly body?: unknown;
}

export interface TransactionAnswer {
  readonly id: string | null;
  readonly operation: string;
  readonly status: number;
  readonly etag: string | null;
  readonly location: string | null;
  readonly body: object | null;
}
