/**
 * Keys that encrypt session tickets of the traffic listener (RFC 5077, RFC 8446 section 4.6.1). The main thread creates
 * them and sends the same keys to every worker, so that a client can resume its session with any worker. They are
 * replaced on a schedule, because a person who has the keys can decrypt recorded sessions. Owns the schedule; keys are
 * only in memory.
 *
 * Node uses one set of keys: a client whose ticket is older than the last change makes one full handshake and gets a
 * new ticket.
 */
import { secretBytes } from '../../lib/ids.ts';
import type { Logger } from '../../observe/log.ts';

/** Name, HMAC key and AES key, 16 bytes each, as Node requires. */
const TICKET_KEYS_BYTES = 48;

export function newTicketKeys(): Uint8Array {
  return secretBytes(TICKET_KEYS_BYTES);
}

/**
 * Publishes new keys every `rotationMs`; returns a function that stops it.
 * @param publish resolves when all workers use them
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
