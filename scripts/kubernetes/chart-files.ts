/** What is generated of the Helm chart: the schema of its values, and its copies of rules and dashboards. Pure. */
import { basename } from 'node:path';
import { OBSERVABILITY_FOLDER, observabilityFiles } from '../observability/files.ts';
import { valuesSchema } from './values-schema.ts';

export const CHART_FOLDER = 'deploy/helm/headgate';

/** @param read the text of a file of the project. A chart can read no file outside of its folder. */
export function chartFiles(read: (path: string) => string): Map<string, string> {
  const shown = [...observabilityFiles()].filter(([path]) => !path.includes('/tests/'));
  return new Map([
    [`${CHART_FOLDER}/values.schema.json`, valuesSchema(read(`${CHART_FOLDER}/values.yaml`))],
    ...shown
      .filter(([path]) => path.startsWith(OBSERVABILITY_FOLDER))
      .map(([path, text]): [string, string] => [`${CHART_FOLDER}/files/${basename(path)}`, text]),
  ]);
}
