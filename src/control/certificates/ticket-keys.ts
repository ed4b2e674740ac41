/**
 * The keys that session tickets of the traffic listener are sealed with (RFC 5077, RFC 8446 section 4.6.1). The main
 * thread makes them and hands the same ones to every worker, so that a client resumes its session with whichever worker
 * its next connection comes to; they change on a schedule, since who has them can read sessions that were recorded.
 * Owns the schedule. Keys are kept in memory alone.
 *
 * Node seals and opens with one set of keys: a client whose ticket is older than the last change makes one full handshake
 * and gets a new ticket.
 */
import { secretBytes } from '../../lib/ids.ts';
import type { Logger } from '../../observe/log.ts';

/** Name, HMAC key and AES key, 16 bytes each; what Node takes. */
const TICKET_KEYS_BYTES = 48;

export function newTicketKeys(): Uint8Array {
  return secretBytes(TICKET_KEYS_BYTES);
}

/**
 * Publishes new keys every `rotationMs`; returns how to end it.
 * @param publish resolves when all workers seal with them
 */
export function startTicketRotation(
  rotationMs: number,
  publish: (keys: Uint8Array) => Promise<void>,
  log: Logger,
): () => void {
  const rotate = async (): Promise<void> => {
    try {
      await publish(newTicketKeys());
    } catch (error) {
      log.error({ err: error }, 'cannot send new session ticket keys to the workers');
    }
  };
  const timer = setInterval(() => void rotate(), rotationMs);
  return () => clearInterval(timer);
}
