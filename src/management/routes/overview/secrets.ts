/**
 * `GET /api/v1/secrets`: which key each encrypted value in the database needs, and `POST /api/v1/secrets/rekey`, which
 * encrypts them with the first key. Shows neither values nor keys.
 */
import { counted } from '../../../lib/text/counted.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import type { SecretStore } from '../../../storage/secret-store.ts';
import { answer, emptyAnswer, fail, isFailure } from '../../api/failure.ts';
import { API_PREFIX, type Operation } from '../../api/operation.ts';
import { NO_QUERY } from '../../api/query.ts';
import type { ManagementContext } from '../../context.ts';
import { envelopeSchema } from '../../schemas/envelope.ts';
import { RekeyedSchema, SecretsSchema, type Secrets } from '../../schemas/overview/secrets-schema.ts';
import { NOTHING_TOUCHED, type Written } from '../../write/write.ts';

const PATH = `${API_PREFIX}/secrets`;

export function secretOperations(context: ManagementContext): Operation[] {
  return [listSecrets(context), rekeySecrets(context)];
}

function listSecrets({ secrets }: ManagementContext): Operation {
  return {
    method: 'GET',
    path: PATH,
    operationId: 'listSecrets',
    tag: 'Service',
    summary: 'Count the encrypted values in the database by the key that they need',
    description:
      'An old key that no value needs any more can be removed from the settings. No value needs a new key before it stands first. Reads the whole database, a page at a time.',
    access: 'admin',
    query: NO_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'Keys and numbers of values',
      schema: jsonSchema(envelopeSchema('SecretsEnvelope', SecretsSchema)),
    },
    failures: [],
    handle: async () => answer(200, 'Encrypted values counted', await describe(secrets())),
  };
}

function rekeySecrets(context: ManagementContext): Operation {
  let isRunning = false;
  return {
    method: 'POST',
    path: `${PATH}/rekey`,
    operationId: 'rekeySecrets',
    tag: 'Service',
    summary: 'Encrypt every secret in the database with the first secret key',
    description:
      'For a change of `GATEWAY_SECRET_KEY`: values that need another key of this gateway get its first one. Other calls and traffic go on meanwhile. If it is interrupted, call it again: every value is encrypted with one key or the other. Refused while another gateway on the database encrypts with another key.',
    access: 'admin',
    query: NO_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'All values that can be decrypted have the first key',
      schema: jsonSchema(envelopeSchema('RekeyedSecretsEnvelope', RekeyedSchema)),
    },
    failures: ['conflict'],
    handle: async (call) => {
      if (isRunning)
        return fail('conflict', 'The secrets are already being encrypted again; wait for its end');
      isRunning = true;
      try {
        const audited = await context.write(call, async () => AUDITED);
        if (isFailure(audited)) return audited;
        const secrets = context.secrets();
        const done = await secrets.rekey();
        if ('refused' in done) return fail('conflict', `Cannot encrypt the secrets again: ${done.refused}`);
        return answer(200, `${counted(done.rekeyed, 'value')} encrypted again`, {
          ...(await describe(secrets)),
          rekeyed: done.rekeyed,
        });
      } finally {
        isRunning = false;
      }
    },
  };
}

const AUDITED: Written = {
  answer: emptyAnswer(204),
  touched: NOTHING_TOUCHED,
  audit: {
    action: 'secrets.rekey',
    resourceType: 'secrets',
    resourceId: '',
    resourceName: null,
    parents: {},
    change: null,
  },
};

async function describe(secrets: SecretStore): Promise<Secrets> {
  const counts = await secrets.count();
  return {
    source: secrets.keyName,
    keys: secrets.keyIds.map((id, index) => ({
      id,
      encrypts: index === 0,
      values: counts.reduce((sum, { keyId, count }) => sum + (keyId === id ? count : 0), 0),
    })),
    values: counts.map(({ place, keyId = null, state, count }) => ({ place, key_id: keyId, state, count })),
  };
}
