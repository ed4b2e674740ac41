/** `npm pack` of a folder. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';

/** @param draft folder with the files. @param folder for the package. @returns its path */
export function npmPack(draft: string, folder: string): string {
  mkdirSync(folder, { recursive: true });
  const printed = execFileSync('npm', ['pack', draft, '--json', '--ignore-scripts', '--loglevel=error'], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return resolve(folder, fileNameIn(printed));
}

/** npm 10 and 11 print a list, later ones an object by name. */
function fileNameIn(printed: string): string {
  const results = Object.values(JSON.parse(printed) as Record<string, { readonly filename: string }>);
  const [result] = results;
  if (result === undefined) throw new Error(`npm pack made nothing: ${printed}`);
  return result.filename;
}
