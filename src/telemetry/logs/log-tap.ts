/**
 * One thread's part of exporting logs: puts each line of its logger into a ring, from which the exporting thread
 * takes it. Never waits; a line without room is counted as dropped.
 */
import type { Clock } from '../../lib/clock.ts';
import { ProtobufWriter } from '../otlp/protobuf-writer.ts';
import { BatchWriter, createBatchRing, type BatchRing } from '../ring/batch-ring.ts';
import { writeLogRecord } from './log-records.ts';

/** The memory of each thread: some thousand lines. */
const RING_BYTES = 1_048_576;

/** Creates the ring for the lines of a thread. */
export function createLogRing(): BatchRing {
  return createBatchRing(RING_BYTES);
}

/**
 * Creates the function that the logger calls with each line.
 * @param onFilling called when the ring should be read soon; it may not log
 */
export function createLogTap(
  ring: BatchRing,
  clock: Pick<Clock, 'nowMs'>,
  onFilling: () => void,
): (line: string) => void {
  const batches = new BatchWriter(ring, onFilling);
  const writer = new ProtobufWriter();
  return (line) => {
    writer.clear();
    writeLogRecord(writer, line, clock.nowMs());
    batches.push(writer.bytes, 1);
  };
}
