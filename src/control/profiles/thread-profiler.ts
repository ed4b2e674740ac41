/**
 * Creates a profile of its own thread with Node's inspector, which is loaded at the first profile. A CPU profile is
 * taken while the thread works; a heap snapshot stops the thread until it is done. No port is opened, and nothing is
 * written to disk. The caller ensures that there is one profile at a time.
 */
import type { Session } from 'node:inspector/promises';
import { once } from 'node:events';
import { messageOf } from '../../lib/error-message.ts';
import type { ProfileSink, ProfileTask, RunningProfile } from '../../observe/profile.ts';

const SAMPLE_INTERVAL_MICROS = 1_000;
/** Limit of a CPU profile: deep stacks that all differ make it long. */
const CPU_PROFILE_CHARS_MAX = 64 * 1024 * 1024;
/**
 * Limit of the heap: a snapshot of small objects took nine seconds for each 100 MiB, in which the thread does
 * nothing else.
 */
const HEAP_BYTES_MAX = 256 * 1024 * 1024;
/**
 * Memory for a snapshot as a multiple of the heap: V8 used fourteen times a heap of small objects; the text is
 * almost twice the heap.
 */
const SNAPSHOT_FACTOR = 16;
const MEBIBYTE = 1024 * 1024;

export interface ThreadMemory {
  readonly heapBytes: number;
  readonly availableBytes: number;
}

/** Starts a profile of the current thread. */
export function profileThread(task: ProfileTask, sink: ProfileSink): RunningProfile {
  const stopping = new AbortController();
  void run(task, sink, stopping.signal).then(
    (problem) => sink.end(problem),
    (error: unknown) => sink.end(messageOf(error)),
  );
  return { stop: () => stopping.abort() };
}

async function run(task: ProfileTask, sink: ProfileSink, stopping: AbortSignal): Promise<string | undefined> {
  const problem = task.kind === 'heap' ? snapshotProblem(await threadMemory()) : undefined;
  if (problem !== undefined) return problem;
  const inspector = await import('node:inspector/promises');
  if (stopping.aborted) return 'it was stopped';
  const session = new inspector.Session();
  session.connect();
  try {
    if (task.kind === 'cpu') return await profileCpu(session, task.seconds, sink, stopping);
    await snapshotHeap(session, sink);
    return undefined;
  } finally {
    // Ends everything that still runs for it.
    session.disconnect();
  }
}

async function profileCpu(
  session: Session,
  seconds: number,
  sink: ProfileSink,
  stopping: AbortSignal,
): Promise<string | undefined> {
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_INTERVAL_MICROS });
  await session.post('Profiler.start');
  await waitFor(seconds, stopping);
  const { profile } = await session.post('Profiler.stop');
  if (stopping.aborted) return 'it was stopped';
  const text = JSON.stringify(profile);
  if (text.length > CPU_PROFILE_CHARS_MAX) {
    return `the profile would have more than ${CPU_PROFILE_CHARS_MAX / MEBIBYTE} MiB; ask for fewer seconds`;
  }
  sink.chunk(text);
  return undefined;
}

/** Does not keep the thread alive. */
async function waitFor(seconds: number, stopping: AbortSignal): Promise<void> {
  if (stopping.aborted) return;
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(), seconds * 1_000).unref();
  await Promise.race([once(ended.signal, 'abort'), once(stopping, 'abort')]);
  clearTimeout(timer);
}

async function snapshotHeap(session: Session, sink: ProfileSink): Promise<void> {
  session.on('HeapProfiler.addHeapSnapshotChunk', ({ params }) => sink.chunk(params.chunk));
  await session.post('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
}

async function threadMemory(): Promise<ThreadMemory> {
  const { getHeapStatistics } = await import('node:v8');
  return { heapBytes: getHeapStatistics().used_heap_size, availableBytes: process.availableMemory() };
}

/** Why a heap snapshot is not taken; undefined when it can be. */
export function snapshotProblem({ heapBytes, availableBytes }: ThreadMemory): string | undefined {
  const mebibytes = (bytes: number): string => `${Math.ceil(bytes / MEBIBYTE)} MiB`;
  if (heapBytes > HEAP_BYTES_MAX) {
    return `the heap has ${mebibytes(heapBytes)}, which would stop the thread for too long; expected at most ${mebibytes(HEAP_BYTES_MAX)}`;
  }
  const neededBytes = heapBytes * SNAPSHOT_FACTOR;
  if (neededBytes <= availableBytes) return undefined;
  return `a snapshot of ${mebibytes(heapBytes)} needs ${mebibytes(neededBytes)} of memory, and ${mebibytes(availableBytes)} are left to the process`;
}
