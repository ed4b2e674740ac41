/**
 * Shares the connections of a browser among its windows. Over HTTP/1.1 a browser has six to a host, so six windows
 * with a stream each would leave none for any page. A hidden window closes its stream when another window opens one;
 * among visible windows, the most recent streams stay. A window that becomes visible again opens its own.
 */
export interface SharedConnection {
  /** Call it before a stream is opened. */
  readonly announce: () => void;
  readonly end: () => void;
}

export interface ConnectionUse {
  /** Other windows need the connection. */
  readonly onGiveUp: () => void;
  /** The window is visible again. */
  readonly onSeen: () => void;
}

interface Message {
  readonly id: string;
  readonly does: 'open' | 'close';
}

const CHANNEL = 'headgate streams';
/** Limit for all windows together: the rest of a browser's six connections is for pages. */
const STREAMS_MAX = 4;

export function shareConnections({ onGiveUp, onSeen }: ConnectionUse): SharedConnection {
  // A channel does not hear what it sends itself.
  const channel = new BroadcastChannel(CHANNEL);
  const id = crypto.getRandomValues(new Uint32Array(2)).join('-');
  const ended = new AbortController();
  /** Streams that were opened after this window's own. */
  const newer = new Set<string>();
  const tell = (does: Message['does']): void => channel.postMessage({ id, does } satisfies Message);
  const isSeen = (): boolean => document.visibilityState === 'visible';
  const look = (): void => {
    if (isSeen()) onSeen();
  };
  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    if (data.does === 'close') return void newer.delete(data.id);
    newer.add(data.id);
    if (isSeen() && newer.size < STREAMS_MAX) return undefined;
    tell('close');
    return onGiveUp();
  });
  document.addEventListener('visibilitychange', look, { signal: ended.signal });
  window.addEventListener('focus', look, { signal: ended.signal });
  window.addEventListener('pagehide', () => tell('close'), { signal: ended.signal });
  return {
    announce: () => {
      newer.clear();
      tell('open');
    },
    end: () => {
      ended.abort();
      tell('close');
      channel.close();
    },
  };
}
