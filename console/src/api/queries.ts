/**
 * The API in React: reads that stay fresh, lists page by page, and writes after which everything shown is read
 * again.
 */
import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
  type UseInfiniteQueryResult,
  type UseMutationResult,
  type UseQueryResult,
} from '@tanstack/react-query';
import { call, type Answer, type CallOptions, type OperationName } from './call.ts';
import type { Operations } from './schema.ts';

/** How long a write waits until everything that is shown was read again. */
const READ_AGAIN_MS = 1_000;

interface ReadOptions {
  /** Read again at this interval in milliseconds while the page is visible. */
  readonly everyMs?: number | undefined;
  readonly enabled?: boolean | undefined;
  /** Show the answer before while another is read, as when typing into a search. */
  readonly keepPrevious?: boolean | undefined;
}

export function queryKey(name: OperationName, options: object): readonly unknown[] {
  const { path, query, body } = options as Readonly<Record<string, unknown>>;
  return [name, path ?? null, query ?? null, body ?? null];
}

/** A read; also a POST that changes nothing, such as a plan. */
export function useRead<Name extends OperationName>(
  name: Name,
  options: CallOptions<Name>,
  { everyMs, enabled = true, keepPrevious = false }: ReadOptions = {},
): UseQueryResult<Answer<Operations[Name]['result']>> {
  return useQuery({
    queryKey: queryKey(name, options),
    queryFn: ({ signal }) => call(name, { ...options, signal }),
    enabled,
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
    ...(keepPrevious && { placeholderData: keepPreviousData }),
  });
}

type ListName = {
  [Name in OperationName]: Operations[Name]['result'] extends {
    readonly data: readonly unknown[];
    readonly page: { readonly next_cursor: string | null; readonly total: number };
  }
    ? Name
    : never;
}[OperationName];
type Item<Name extends ListName> = Operations[Name]['result']['data'][number];

export interface Pages<T> {
  readonly items: readonly T[];
  readonly total: number;
}

/** A list with cursors: `fetchNextPage` appends the next page to `data.items`. */
export function usePages<Name extends ListName>(
  name: Name,
  options: CallOptions<Name>,
  { everyMs, enabled = true, keepPrevious = false }: ReadOptions = {},
): UseInfiniteQueryResult<Pages<Item<Name>>> {
  return useInfiniteQuery({
    queryKey: [...queryKey(name, options), 'pages'],
    queryFn: async ({ pageParam, signal }) => {
      const query = { ...options.query, ...(pageParam !== undefined && { cursor: pageParam }) };
      const { body } = await call(name, { ...options, query, signal });
      return body;
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.page.next_cursor ?? undefined,
    select: ({ pages }): Pages<Item<Name>> => ({
      items: pages.flatMap((page) => page.data as readonly Item<Name>[]),
      total: pages[0]?.page.total ?? 0,
    }),
    enabled,
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
    ...(keepPrevious && { placeholderData: keepPreviousData }),
  });
}

/**
 * A write; everything that is shown is read again afterwards.
 *
 * @param leave leaves the page of a record that the write deletes, before that is read again
 */
export function useWrite<Name extends OperationName>(
  name: Name,
  leave?: () => Promise<void>,
): UseMutationResult<Answer<Operations[Name]['result']>, Error, CallOptions<Name>> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (options: CallOptions<Name>) => call(name, options),
    onSuccess: async () => {
      await leave?.();
      // Reads that fail are tried again for long; the reader learns of the success before that.
      const passed = new Promise((done) => setTimeout(done, READ_AGAIN_MS));
      await Promise.race([client.invalidateQueries(), passed]);
    },
  });
}
