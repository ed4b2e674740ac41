/**
 * A mark of GATEWAY_ADMIN_TOKEN, by which lists recognise a session that was created with another token: the value
 * of its cookie, which would prove it, is not stored. The mark grants nothing. Guessing the token from the mark
 * costs a slow hash (scrypt) per guess, and the mark is too short to confirm a guess.
 */
import { scrypt } from 'node:crypto';

const MARK_BYTES = 4;
const marks = new Map<string, Promise<string>>();

/** Computed once per token; a process has one. '' when there is none. */
export function markOf(adminToken: string | undefined): Promise<string> {
  if (adminToken === undefined) return Promise.resolve('');
  const known = marks.get(adminToken);
  if (known !== undefined) return known;
  const made = new Promise<string>((done, fail) => {
    scrypt(adminToken, 'headgate admin token of sessions', MARK_BYTES, (error, bytes) => {
      if (error === null) done(bytes.toString('hex'));
      else fail(error);
    });
  });
  marks.set(adminToken, made);
  return made;
}
