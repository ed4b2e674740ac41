/**
 * `GET /config/backup`: everything in the database as one file, streamed. Rows go out as they are read, a page at a
 * time, so that the memory does not grow with the database; one backup runs at a time. A client that takes nothing for
 * too long is cut off, since the database keeps a state for it meanwhile.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { createGzip, type Gzip } from 'node:zlib';
import { timestamp } from '../../lib/clock.ts';
import type { ManagementContext } from '../context.ts';
import { emptyAnswer, fail, isFailure, type Answer } from '../api/failure.ts';
import { API_PREFIX, type Operation } from '../api/operation.ts';
import { NO_QUERY } from '../api/query.ts';
import { NOTHING_TOUCHED, type Written } from '../write/write.ts';

const CONTENT_TYPE = 'application/gzip';
const STALL_MAX_MS = 30_000;

export function backupOperation(context: ManagementContext): Operation {
  let running = false;
  return {
    method: 'GET',
    path: `${API_PREFIX}/config/backup`,
    operationId: 'backupConfig',
    tag: 'Configuration',
    summary: 'Back up the database as one file',
    description:
      'A consistent, compressed copy of the database for `headgate config restore`. It contains the configuration, API keys and admin tokens as hashes, secrets of policies in encrypted form, the audit log and the history. It does not contain the key that encrypts the secrets.',
    access: 'admin',
    query: NO_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'The file',
      contentType: CONTENT_TYPE,
      schema: { type: 'string' },
    },
    failures: ['conflict'],
    handle: async (call) => {
      if (running) return fail('conflict', 'Another backup is being made; try again when it has finished');
      running = true;
      try {
        const audited = await context.write(call, async () => AUDITED);
        if (isFailure(audited)) {
          running = false;
          return audited;
        }
        return await started(context, () => {
          running = false;
        });
      } catch (error) {
        running = false;
        throw error;
      }
    },
  };
}

const AUDITED: Written = {
  answer: emptyAnswer(204),
  touched: NOTHING_TOUCHED,
  audit: {
    action: 'config.backup',
    resourceType: 'config',
    resourceId: '',
    resourceName: null,
    parents: {},
    change: null,
  },
};

/** Resolves when the first page has been read, so that an unavailable database is still an error response. */
function started({ backups, clock }: ManagementContext, onEnd: () => void): Promise<Answer> {
  const gzip = createGzip();
  const createdAt = timestamp(clock.nowMs());
  return new Promise((resolve, reject) => {
    const body: Answer = {
      status: 200,
      headers: {
        'Content-Type': CONTENT_TYPE,
        'Content-Disposition': `attachment; filename="headgate-${createdAt.slice(0, 10)}.backup"`,
      },
      body: gzip,
    };
    const origin = { program_version: backups.programVersion, created_at: createdAt };
    const sent = backups.repository.backup(origin, async (text) => {
      resolve(body);
      await writeTo(gzip, text);
    });
    void sent
      .then(
        () => gzip.end(),
        (error: unknown) => {
          reject(error);
          gzip.destroy(error as Error);
        },
      )
      .finally(onEnd);
    // The client has gone, or the database failed: the answer is cut off either way.
    gzip.on('error', () => undefined);
  });
}

async function writeTo(gzip: Gzip, text: string): Promise<void> {
  if (gzip.destroyed) throw new Error('the client has gone');
  // Reading a page blocks the thread: other calls run in between.
  if (gzip.write(text)) return void (await turn());
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => gzip.destroy(new Error('the client takes too long')), STALL_MAX_MS);
    const settle = (): void => {
      clearTimeout(timer);
      gzip.off('drain', settle).off('close', settle);
      if (gzip.destroyed) reject(new Error('the client has gone'));
      else resolve();
    };
    gzip.once('drain', settle).once('close', settle);
  });
}
