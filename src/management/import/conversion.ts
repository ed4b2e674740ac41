/**
 * Converts an OpenAPI description for a client of the management API. A malicious document can take much time or
 * memory, so this runs in a separate thread (import-worker.ts), which is ended in that case. Pure.
 */
import { readForeign } from '../../declaration/foreign-document.ts';
import { NOTES_MAX, YAML_BYTES_MAX } from './conversion-job.ts';
import type { ConversionJob, Converted, NotConverted } from './conversion-job.ts';
import { defaultVersion, readDescription } from './openapi-document.ts';
import { importTree } from './openapi-tree.ts';

export function convert({ document, app, known, ...given }: ConversionJob): Converted | NotConverted {
  const wrong = (problem: string): NotConverted => ({ field: 'document', problem });
  const text = typeof document === 'string' ? document : JSON.stringify(document);
  const bytes = Buffer.from(text);
  if (!/^\s*\{/.test(text) && bytes.length > YAML_BYTES_MAX) {
    return wrong(
      `is YAML of more than ${YAML_BYTES_MAX} bytes: send it as JSON, or use \`headgate import openapi\``,
    );
  }
  const read = readForeign(bytes);
  if ('problem' in read) return wrong(`cannot be read: ${read.problem}`);
  const description = readDescription(read.value);
  if ('problem' in description) return wrong(`is not a description: ${description.problem}`);
  const { version = defaultVersion(description), revision = 'r1', security = false, backend } = given;
  const options = { app, version, revision, security, backend, gatewayPath: given.gateway_path };
  const imported = importTree(description, options, known);
  if ('problem' in imported) return { field: 'backend', problem: imported.problem };
  return {
    config: { apps: { [app]: imported.app } },
    operations: imported.operations,
    notes: imported.notes.slice(0, NOTES_MAX),
    notes_total: imported.notes.length,
  };
}
