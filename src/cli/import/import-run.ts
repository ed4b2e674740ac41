/**
 * The common steps of imports from other gateways: read the document strictly, translate it, plan or apply it or
 * write it to a file, and report all findings.
 */
import { DOCUMENT_BYTES_MAX, readDocument } from '../../declaration/yaml-reader.ts';
import { escapeReferences } from '../../declaration/references.ts';
import { writeYaml } from '../../declaration/yaml-writer.ts';
import { planText, type ShownPlan } from '../config/plan-text.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { createClient } from '../gateway-client.ts';
import { readInput } from '../input.ts';
import { CliError, printable, type CliIo } from '../io.ts';
import { writeOutputFile } from '../output-file.ts';
import { writeProblems } from '../show/field-errors.ts';
import { writeJson } from '../show/output-format.ts';
import { wholeNumber } from '../whole-number.ts';
import { findingsText } from './findings-text.ts';
import type { ImportFlags } from './import-options.ts';
import type { Item } from './imported-route.ts';
import type { Finding } from './source.ts';

export interface ImportedApp {
  readonly app: Item;
  /** One line about the content of the document. */
  readonly summary: string;
  readonly findings: readonly Finding[];
}

type Imported = ImportedApp | { readonly problem: string };

/** @throws CliError with all problems of the document */
export function readSource(path: string, io: CliIo): unknown {
  const read = readDocument(path, readInput(path, DOCUMENT_BYTES_MAX, io));
  if ('value' in read) return read.value;
  writeProblems(read, io);
  throw new CliError(`Cannot read ${path}`);
}

/** @param source name of the document in messages */
export async function runImport(
  imported: Imported,
  source: string,
  flags: ImportFlags,
  io: CliIo,
): Promise<void> {
  if ('problem' in imported) throw new CliError(`Cannot import ${source}: ${imported.problem}`);
  const config = { apps: { [flags.app]: imported.app } };
  // It may contain values of keys.
  if (flags.out !== undefined) writeOutputFile(flags.out, writeYaml(escapeReferences(config)), 'private');
  const plan = flags.out === undefined ? await planned(config, source, flags, io) : undefined;
  const { summary, findings } = imported;
  if (flags.output === 'json') writeJson({ summary, findings, ...(plan && { plan }) }, io);
  else {
    io.out(`${printable(summary)}\n\n${findingsText(findings)}`);
    if (plan !== undefined) io.out(planText(plan, flags.apply === true, io));
  }
  if (plan !== undefined && flags.apply !== true && plan.changes.length > 0) io.exit(EXIT_CODES.differs.code);
}

async function planned(config: object, source: string, flags: ImportFlags, io: CliIo): Promise<ShownPlan> {
  const deletes = flags.maxDeletes;
  const body = {
    config,
    ...(deletes !== undefined && { max_deletes: wholeNumber('--max-deletes', deletes, 0) }),
    ...(flags.apply === true && { message: `import ${source}`.slice(0, 1_000) }),
  };
  const path = flags.apply === true ? '/config/apply' : '/config/plan';
  return (await createClient(flags, io).call('POST', path, body)) as ShownPlan;
}
