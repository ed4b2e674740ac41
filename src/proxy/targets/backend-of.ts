/** The backend of an exchange: that of its latest attempt, or the first of its revision. */
import type { CompiledBackend } from '../../config/types.ts';
import type { ExchangeView } from '../interfaces/exchange-view.ts';
import type { Route } from '../interfaces/route.ts';

export function backendOf({ target }: ExchangeView, { revision }: Route): CompiledBackend {
  return target?.backend ?? revision.backend;
}
