/** Loads what draws charts, when the first one is shown. */

import type { drawChart } from './chart-view.ts';

/**
 * uPlot formats numbers by `navigator.language` when it is loaded, and fails with an invalid tag: browsers in
 * the POSIX locale have `en-US@posix`.
 */
export function loadChart(): Promise<{ readonly drawChart: typeof drawChart }> {
  try {
    Intl.getCanonicalLocales(navigator.language);
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en', configurable: true });
  }
  return import('./chart-view.ts');
}
