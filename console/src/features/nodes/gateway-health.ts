/** Whether the gateway's database works. An answer with 503 is one, too. */
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { ApiError } from '../../api/api-error.ts';
import { call } from '../../api/call.ts';
import type { Health } from '../../api/schema.ts';

export interface GatewayHealth {
  readonly health: Health;
  /** The status that the gateway reports, such as `ok`. */
  readonly message: string;
}

const EVERY_MS = 10_000;

export function useGatewayHealth(): UseQueryResult<GatewayHealth> {
  return useQuery({
    queryKey: ['gateway health'],
    queryFn: async ({ signal }): Promise<GatewayHealth> => {
      try {
        const { body } = await call('GET /health', { signal });
        return { health: body.data, message: body.message };
      } catch (error) {
        const { data, message } = error instanceof ApiError ? error.problem : {};
        if (typeof data !== 'object' || data === null) throw error;
        return { health: data as Health, message: String(message) };
      }
    },
    refetchInterval: EVERY_MS,
  });
}
