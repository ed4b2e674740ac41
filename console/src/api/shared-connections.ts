/**
 * Tabs that share the connections of their browser. Over HTTP/1.1 a browser has six to a host, so six tabs with a stream
 * each would leave none for any page: a tab that is not seen gives its stream up when another tab opens one, and opens
 * it again when it is seen.
 */
export interface SharedConnection {
  /** Call it before a stream is opened. */
  readonly announce: () => void;
  readonly end: () => void;
}

export interface ConnectionUse {
  /** Another tab opens a stream, and this one is not seen. */
  readonly onGiveUp: () => void;
  readonly onSeen: () => void;
}

const CHANNEL = 'headgate streams';

export function shareConnections({ onGiveUp, onSeen }: ConnectionUse): SharedConnection {
  // A channel does not hear what it sends itself.
  const channel = new BroadcastChannel(CHANNEL);
  const isSeen = (): boolean => document.visibilityState === 'visible';
  const look = (): void => {
    if (isSeen()) onSeen();
  };
  channel.addEventListener('message', () => {
    if (!isSeen()) onGiveUp();
  });
  document.addEventListener('visibilitychange', look);
  return {
    announce: () => channel.postMessage('opens'),
    end: () => {
      document.removeEventListener('visibilitychange', look);
      channel.close();
    },
  };
}
