/** Answers over IPC of a process that was forked for a test: messages that say in `kind` what they are. */
import type { ChildProcess } from 'node:child_process';

const REPLY_MS_MAX = 60_000;

/**
 * The next message of that kind, and for which `isIt` holds; rejects when the process ends before, or takes too long.
 */
export function childReply<R extends { readonly kind: string }, K extends R['kind']>(
  child: ChildProcess,
  kind: K,
  isIt: (message: Extract<R, { kind: K }>) => boolean = () => true,
): Promise<Extract<R, { kind: K }>> {
  const isOfKind = (message: R): message is Extract<R, { kind: K }> => message.kind === kind;
  return new Promise((done, fail) => {
    const timer = setTimeout(
      () => finish(() => fail(new Error(`No "${kind}" within ${REPLY_MS_MAX} ms`))),
      REPLY_MS_MAX,
    );
    const onMessage = (message: R): void => {
      if (isOfKind(message) && isIt(message)) finish(() => done(message));
    };
    const onExit = (): void => finish(() => fail(new Error(`The process ended before "${kind}"`)));
    function finish(then: () => void): void {
      clearTimeout(timer);
      child.off('message', onMessage).off('exit', onExit);
      then();
    }
    child.on('message', onMessage).once('exit', onExit);
  });
}
