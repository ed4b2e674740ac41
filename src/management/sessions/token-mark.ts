/**
 * A mark of GATEWAY_ADMIN_TOKEN, by which lists can tell that a session was begun with another token: the value of its
 * cookie, which proves it, is stored nowhere. The mark grants nothing. A guess of the token by the mark costs a slow
 * hash (scrypt), and the mark is too short to confirm a guess for certain.
 */
import { scrypt } from 'node:crypto';

const MARK_BYTES = 4;
const marks = new Map<string, Promise<string>>();

/** Calculated once for each token; a process has one. '': there is none. */
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
