/**
 * A stream of server-sent events (WHATWG HTML section 9.2). The browser reconnects itself after a lost connection,
 * but gives up after an answer that is not a stream. This then finds the reason and tries again where that can help:
 * after a restart, and when an ended session was renewed. A connection whose other end has gone without a word is
 * never lost for the browser, so one that has brought nothing for a while is replaced.
 */
import { ApiError, GatewayUnreachable } from './api-error.ts';
import type { Problem } from './schema.ts';
import { shareConnections } from './shared-connections.ts';
import { announceSessionEnd, connectionState, csrfToken, subscribeToConnection } from './session-state.ts';

/** `given_up`: to other windows, which need the connection. */
export type StreamState = 'connecting' | 'open' | 'lost' | 'refused' | 'given_up';

export interface StreamListener {
  /** By the name of the event. */
  readonly on: Readonly<Record<string, (data: string) => void>>;
  /** @param error why it was refused: filters that the API does not take, or too many streams */
  readonly onState: (state: StreamState, error?: ApiError) => void;
}

const RETRY_MS = 3_000;
/** Several times as long as the gateway is silent at most: it sends an event every five seconds. */
const SILENCE_MS = 20_000;

export interface OpenStream {
  readonly end: () => void;
  /** Opens it again after it was given up. */
  readonly resume: () => void;
}

export function openStream(url: string, listener: StreamListener): OpenStream {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let hasEnded = false;
  let hasGivenUp = false;
  const shared = shareConnections({
    onGiveUp: () => {
      hasGivenUp = true;
      stopWaiting();
      source?.close();
      listener.onState('given_up');
    },
    onSeen: () => resume(),
  });
  const resume = (): void => {
    if (!hasGivenUp) return;
    hasGivenUp = false;
    listener.onState('connecting');
    connect();
  };

  const stopWaiting = (): void => {
    clearTimeout(timer);
    clearTimeout(silence);
  };
  const awaitNews = (): void => {
    clearTimeout(silence);
    silence = setTimeout(() => {
      source?.close();
      listener.onState('lost');
      connect();
    }, SILENCE_MS);
  };

  const connect = (): void => {
    if (hasEnded || hasGivenUp) return;
    shared.announce();
    const opened = new EventSource(url);
    source = opened;
    awaitNews();
    opened.addEventListener('open', () => listener.onState('open'));
    for (const [name, hear] of Object.entries(listener.on))
      opened.addEventListener(name, ({ data }: MessageEvent<string>) => {
        awaitNews();
        hear(data);
      });
    opened.addEventListener('error', () => {
      const isOver = opened.readyState === EventSource.CLOSED;
      listener.onState('lost');
      if (!isOver) return;
      clearTimeout(silence);
      void giveReason(opened);
    });
  };
  const giveReason = async (failed: EventSource): Promise<void> => {
    const error = await reasonOf(url);
    // Another one may have been opened meanwhile: the session was renewed, or the window is visible again.
    if (hasEnded || hasGivenUp || source !== failed) return;
    if (error instanceof ApiError && error.status !== 401 && error.status < 500)
      return listener.onState('refused', error);
    if (error instanceof ApiError && error.status === 503) listener.onState('refused', error);
    timer = setTimeout(connect, RETRY_MS);
    return undefined;
  };
  // A stream that failed because the session had ended is opened again at once when the session is renewed.
  let hadEnded = connectionState().hasSessionEnded;
  const unsubscribe = subscribeToConnection(() => {
    const { hasSessionEnded } = connectionState();
    if (hadEnded && !hasSessionEnded && source?.readyState === EventSource.CLOSED) {
      stopWaiting();
      connect();
    }
    hadEnded = hasSessionEnded;
  });
  listener.onState('connecting');
  connect();
  return {
    end: () => {
      hasEnded = true;
      stopWaiting();
      unsubscribe();
      shared.end();
      source?.close();
    },
    resume,
  };
}

/** An event source does not say why it failed. If the answer now is a stream, it is closed unread. */
async function reasonOf(url: string): Promise<ApiError | GatewayUnreachable | undefined> {
  const abort = new AbortController();
  const asked = csrfToken();
  try {
    const response = await fetch(url, {
      headers: { Accept: 'text/event-stream' },
      credentials: 'same-origin',
      signal: abort.signal,
    });
    if (response.ok) {
      abort.abort();
      return undefined;
    }
    if (response.status === 401) announceSessionEnd(asked);
    const problem = (await response.json().catch(() => ({}))) as Partial<Problem>;
    return new ApiError(response.status, problem);
  } catch (error) {
    return new GatewayUnreachable(error);
  }
}
