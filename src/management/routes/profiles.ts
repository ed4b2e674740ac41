/**
 * `POST /profiles`: a CPU profile or a heap snapshot of a thread of this gateway, streamed while it is created. The
 * answer begins with the first piece, so that earlier failures are error responses. Nothing is stored on disk; data
 * that the client has not read yet is in memory, and a client that reads nothing for too long is cut off.
 */
import { Readable } from 'node:stream';
import { Type, type Static } from 'typebox';
import { timestamp } from '../../lib/clock.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import {
  PROFILE_SECONDS_MAX,
  type ProfileTask,
  type ProfileRefusal,
  type ProfileSource,
} from '../../observe/profile.ts';
import { closed, oneOf } from '../../model/schema-pieces.ts';
import { emptyAnswer, fail, invalid, isFailure, type Answer, type Failure } from '../api/failure.ts';
import { API_PREFIX, type Call, type Operation } from '../api/operation.ts';
import { NO_QUERY } from '../api/query.ts';
import type { ManagementContext } from '../context.ts';
import { NOTHING_TOUCHED } from '../write/write.ts';

const SECONDS_DEFAULT = 10;
/** A refusal names no more workers. */
const WORKERS_SHOWN_MAX = 20;
const STALL_MAX_MS = 30_000;
const LOOK_MS = 5_000;

const ProfileInputSchema = Type.Object(
  {
    kind: oneOf(['cpu', 'heap'], {
      description:
        '`cpu`: where the thread spends its time. `heap`: all objects in its memory; the thread stops while it is taken.',
    }),
    thread: Type.Optional(oneOf(['worker', 'main'], { default: 'worker', description: 'Kind of thread.' })),
    worker: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000_000,
        description: 'Number of the worker, as in the log and the metrics. Default: any worker.',
      }),
    ),
    seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: PROFILE_SECONDS_MAX,
        default: SECONDS_DEFAULT,
        description: 'How long a CPU profile takes.',
      }),
    ),
    contains_secrets: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Must be true for a heap snapshot, which contains everything in memory, such as tokens, keys and bodies of requests.',
      }),
    ),
  },
  { ...closed, title: 'ProfileInput' },
);
type ProfileInput = Static<typeof ProfileInputSchema>;

export function profileOperation(context: ManagementContext): Operation {
  return {
    method: 'POST',
    path: `${API_PREFIX}/profiles`,
    operationId: 'createProfile',
    tag: 'Service',
    summary: 'Profile a thread of this gateway',
    description:
      'A CPU profile (`.cpuprofile`) or a heap snapshot (`.heapsnapshot`) of this gateway, for the developer tools of Chrome. Only one profile can be made at a time, and it ends when the client disconnects. **A heap snapshot contains secrets, and its thread stops while it is taken**: the requests of that worker wait.',
    access: 'admin',
    query: NO_QUERY,
    body: {
      schema: jsonSchema(ProfileInputSchema),
      required: true,
      mergePatch: false,
      example: { kind: 'cpu', seconds: 1 },
    },
    entityTag: false,
    success: {
      status: 200,
      description: 'The profile',
      contentType: 'application/json',
      schema: { type: 'object' },
    },
    failures: ['conflict', 'not_found', 'profile_failed'],
    handle: (call) => create(context, call),
  };
}

async function create(context: ManagementContext, call: Call): Promise<Answer | Failure> {
  const input = call.body as ProfileInput;
  const { kind, thread: threadKind = 'worker', worker, seconds = SECONDS_DEFAULT } = input;
  if (kind === 'heap' && input.contains_secrets !== true) {
    const detail = 'must be true for a heap snapshot, which contains keys, tokens and bodies in the clear';
    return invalid([{ pointer: '/contains_secrets', detail }]);
  }
  if (threadKind === 'main' && worker !== undefined) {
    return invalid([{ pointer: '/worker', detail: 'must be left out for the main thread' }]);
  }
  const thread = threadKind === 'main' ? 'main' : worker;
  const name = thread === 'main' ? 'the main thread' : worker === undefined ? 'a worker' : `worker ${worker}`;
  const audited = await context.write(call, async () => ({
    answer: emptyAnswer(204),
    touched: NOTHING_TOUCHED,
    audit: {
      action: 'profile.create',
      resourceType: 'profile',
      resourceId: '',
      resourceName: name,
      parents: {},
      change: { kind, ...(kind === 'cpu' && { seconds }) },
    },
  }));
  if (isFailure(audited)) return audited;
  const ending = kind === 'cpu' ? 'cpuprofile' : 'heapsnapshot';
  const file = `headgate-${timestamp(context.clock.nowMs()).slice(0, 19).replaceAll(':', '')}.${ending}`;
  return started(context.profiles, call, { thread, name, file, task: { kind, seconds } });
}

interface Wanted {
  readonly thread: number | 'main' | undefined;
  readonly name: string;
  readonly file: string;
  readonly task: ProfileTask;
}

/** Resolves with the first piece of the profile, or with the reason why there is none. */
function started(
  profiles: ProfileSource,
  { lasting }: Call,
  { thread, name, file, task }: Wanted,
): Promise<Answer | Failure> {
  const { promise, resolve } = Promise.withResolvers<Answer | Failure>();
  const text = new Readable({ read: () => undefined });
  // The client has gone: the answer is cut off.
  text.on('error', () => undefined);
  const answered: Answer = {
    status: 200,
    headers: {
      'Content-Type': 'application/json',
      'Content-Disposition': `attachment; filename="${file}"`,
    },
    body: text,
  };
  const profile = profiles.start(thread, task, {
    chunk: (piece) => {
      if (!text.destroyed) text.push(piece);
      resolve(answered);
    },
    end: (problem) => {
      if (problem === undefined) endWhenTaken(text);
      else text.destroy(new Error(problem));
      resolve(fail('profile_failed', `There is no profile of ${name}: ${problem}`));
    },
  });
  if (typeof profile === 'string') return Promise.resolve(refused(profile, name, profiles.workers()));
  lasting?.onGone(() => {
    profile.stop();
    text.destroy();
  });
  return promise;
}

/** Cuts off a client that reads nothing. */
function endWhenTaken(text: Readable): void {
  if (text.destroyed) return;
  text.push(null);
  let left = text.readableLength;
  let stalledMs = 0;
  const timer = setInterval(() => {
    stalledMs = text.readableLength < left ? 0 : stalledMs + LOOK_MS;
    left = text.readableLength;
    if (stalledMs >= STALL_MAX_MS) text.destroy(new Error('the client takes too long'));
  }, LOOK_MS).unref();
  text.once('close', () => clearInterval(timer));
}

function refused(refusal: ProfileRefusal, name: string, workers: readonly number[]): Failure {
  if (refusal === 'running')
    return fail('conflict', 'Another profile is being made; try again when it has finished');
  if (refusal === 'stopping')
    return fail('profile_failed', 'The gateway is stopping, so it makes no profile');
  const shown = workers.toSorted((a, b) => a - b).slice(0, WORKERS_SHOWN_MAX);
  const rest = workers.length > shown.length ? ` and ${workers.length - shown.length} more` : '';
  const present = shown.length === 0 ? 'no worker serves' : `those that serve are ${shown.join(', ')}${rest}`;
  return fail(
    'not_found',
    `There is no profile of ${name}: there is no such worker at the moment; ${present}`,
  );
}
