/** The programs of threads lie beside main.ts, in the sources as in a build, where all files do (scripts/build.ts). */
const IS_BUILD = !import.meta.url.endsWith('.ts');

export function programUrl(name: 'worker' | 'replay-worker' | 'import-worker' | 'telemetry-worker'): URL {
  return new URL(IS_BUILD ? `./${name}.js` : `../../${name}.ts`, import.meta.url);
}
