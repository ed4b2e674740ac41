/** The console: what surrounds all pages. */
import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ApiError } from '../api/api-error.ts';
import { Toasts } from '../ui/overlay/toasts.tsx';
import { router } from './router.tsx';
import { SignInGate } from './sign-in-gate.tsx';

const RETRIES_MAX = 3;
/** A database is usually unavailable for longer; the pages are read again when it is back. */
const RETRIES_WITHOUT_DATABASE = 1;

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // A browser without a network still reaches a gateway on its own machine.
      networkMode: 'always',
      // A refused call would be refused again; without an answer the gateway may be starting.
      retry: (count, error) => count < retriesFor(error),
    },
    mutations: { retry: false, networkMode: 'always' },
  },
});

function retriesFor(error: Error): number {
  if (!(error instanceof ApiError)) return RETRIES_MAX;
  if (error.code === 'storage_unavailable') return RETRIES_WITHOUT_DATABASE;
  return error.status < 500 ? 0 : RETRIES_MAX;
}

export function App(): ReactNode {
  return (
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={client}>
        <SignInGate>
          <RouterProvider router={router} />
        </SignInGate>
        <Toasts />
      </QueryClientProvider>
    </CSPProvider>
  );
}
