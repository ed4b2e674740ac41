/** Loads what draws charts, when the first one is shown. */

/**
 * uPlot formats numbers by `navigator.language` as it is loaded, and fails with a tag that is none: browsers in the
 * POSIX locale have `en-US@posix`.
 */
export function loadChart(): Promise<typeof import('./chart-view.ts')> {
  try {
    Intl.getCanonicalLocales(navigator.language);
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en', configurable: true });
  }
  return import('./chart-view.ts');
}
