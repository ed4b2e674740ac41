/** The stream of live traffic. */
import type { ApiError } from './api-error.ts';
import { urlOf } from './call.ts';
import { openStream, type OpenStream, type StreamState } from './event-source.ts';
import type { LiveExchange, LiveStatus, Operations } from './schema.ts';

export type { StreamState } from './event-source.ts';
export type LiveQuery = Operations['GET /live']['query'];
export type LiveStream = OpenStream;

export interface LiveListener {
  readonly onExchange: (exchange: LiveExchange) => void;
  readonly onStatus: (status: LiveStatus) => void;
  /** @param error why it was refused: filters that the API does not take, or too many streams */
  readonly onState: (state: StreamState, error?: ApiError) => void;
}

export function openLiveStream(
  query: LiveQuery,
  { onExchange, onStatus, onState }: LiveListener,
): LiveStream {
  return openStream(urlOf('GET /live', { query }), {
    on: {
      exchange: (data) => onExchange(JSON.parse(data) as LiveExchange),
      status: (data) => onStatus(JSON.parse(data) as LiveStatus),
    },
    onState,
  });
}
