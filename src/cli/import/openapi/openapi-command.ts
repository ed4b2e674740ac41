/** `headgate import openapi`: makes a plan from an OpenAPI description, and applies it on request. */
import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { ImportedTree } from '../../../management/import/openapi-tree.ts';
import { gitCommit } from '../../config/git-commit.ts';
import { planText, type ShownPlan } from '../../config/plan-text.ts';
import { addServerFlags } from '../../connection/server-flags.ts';
import { EXIT_CODES } from '../../exit-codes.ts';
import { createClient, RefusedCall, type GatewayClient, type ServerFlags } from '../../gateway-client.ts';
import { readInput } from '../../input.ts';
import { CliError, printable, type CliIo } from '../../io.ts';
import { addExamples, addOutputFlag, writeJson } from '../../show/output-format.ts';
import { counted } from '../../../lib/text/counted.ts';

interface OpenApiFlags extends ServerFlags {
  readonly app: string;
  readonly apiVersion?: string;
  readonly revision: string;
  readonly gatewayPath?: string;
  readonly backend?: string;
  readonly security?: true;
  readonly apply?: true;
  readonly out?: string;
  readonly output: 'text' | 'json';
}

/** Limit of the notes that are shown; the others are counted. */
const NOTES_SHOWN_MAX = 50;

async function importOpenApi(path: string, flags: OpenApiFlags, io: CliIo): Promise<void> {
  // Loaded only here, because loading takes long.
  const { readForeign } = await import('../../../declaration/foreign-document.ts');
  const { FOREIGN_BYTES_MAX } = await import('../../../declaration/foreign-limits.ts');
  const { defaultVersion, readDescription } = await import('../../../management/import/openapi-document.ts');
  const { importTree } = await import('../../../management/import/openapi-tree.ts');
  const { writeYaml } = await import('../../../declaration/yaml-writer.ts');
  const { escapeReferences } = await import('../../../declaration/references.ts');
  const read = readForeign(readInput(path, FOREIGN_BYTES_MAX, io));
  if ('problem' in read) throw new CliError(`Cannot read ${path}: ${read.problem}`);
  const description = readDescription(read.value);
  if ('problem' in description) throw new CliError(`Cannot import ${path}: ${description.problem}`);
  const version = flags.apiVersion ?? defaultVersion(description);
  const options = {
    app: flags.app,
    version,
    revision: flags.revision,
    gatewayPath: flags.gatewayPath,
    backend: flags.backend,
    security: flags.security === true,
  };
  // Writing a file needs no gateway: the file has everything from the description.
  const note = { source: 'import', commit: gitCommit(undefined, [path]) } as const;
  const client = flags.out === undefined ? createClient(flags, io, 'authenticated', note) : undefined;
  const known = client && (await knownApp(client, flags.app));
  const imported = importTree(description, options, known?.app);
  if ('problem' in imported)
    throw new CliError(`${imported.problem}; pass --backend, such as --backend https://billing.internal`);
  const config = { apps: { [flags.app]: imported.app } };
  if (flags.out !== undefined) writeFileSync(flags.out, writeYaml(escapeReferences(config)));
  const plan = client && (await planned(client, config, flags, known?.version));
  if (flags.output === 'json') writeJson({ notes: imported.notes, ...(plan && { plan }) }, io);
  else {
    io.out(notesText(imported));
    if (plan !== undefined) io.out(planText(plan, flags.apply === true, io));
  }
  if (plan !== undefined && flags.apply !== true && plan.changes.length > 0) io.exit(EXIT_CODES.differs.code);
}

interface KnownApp {
  readonly app: Readonly<Record<string, unknown>>;
  /** The config version at which it was read. */
  readonly version: number;
}

/** The app without the parts that an import does not change. */
async function knownApp(client: GatewayClient, slug: string): Promise<KnownApp | undefined> {
  try {
    const data = (await client.call('GET', `/config?app=${encodeURIComponent(slug)}`)) as {
      readonly config_version: number;
      readonly config: { readonly apps: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
    };
    const { keys: _keys, ...app } = data.config.apps[slug] ?? {};
    return { app, version: data.config_version };
  } catch (error) {
    if (error instanceof RefusedCall && error.status === 404) return undefined;
    throw error;
  }
}

/** @param knownVersion the config version in which the app was read; undefined: it did not exist */
async function planned(
  client: GatewayClient,
  config: object,
  { app, apply }: OpenApiFlags,
  knownVersion: number | undefined,
): Promise<ShownPlan> {
  const plan = async (): Promise<ShownPlan> =>
    (await client.call('POST', '/config/plan', { config })) as ShownPlan;
  if (apply !== true) return plan();
  const version = knownVersion ?? versionWithout(app, await plan());
  const body = { config, message: 'import openapi', base_version: version };
  return (await client.call('POST', '/config/apply', body)) as ShownPlan;
}

/**
 * The config version of a plan that creates the app.
 * @throws CliError when the app exists by now: the import would remove what it has
 */
function versionWithout(app: string, { base_version: version, changes }: ShownPlan): number {
  const isNew = changes.some(
    ({ change, type, path }) => change === 'create' && type === 'app' && path[0] === app,
  );
  if (!isNew) throw new CliError(`The app "${app}" was created meanwhile. Nothing was changed; import again`);
  return version;
}

function notesText({ notes, operations }: ImportedTree): string {
  const lines = [`${counted(operations, 'operation')}.`];
  if (notes.length > 0)
    lines.push(
      '',
      'Not carried over:',
      ...notes.slice(0, NOTES_SHOWN_MAX).map((note) => `  ${printable(note)}`),
    );
  if (notes.length > NOTES_SHOWN_MAX)
    lines.push(`  … and ${notes.length - NOTES_SHOWN_MAX} more; --output json has all`);
  return `${lines.join('\n')}\n\n`;
}

export function addOpenApiCommand(command: Command, io: CliIo): void {
  const openapi = addServerFlags(addOutputFlag(command.command('openapi')))
    .description(
      'plan endpoints from an OpenAPI description (2.0, 3.0, 3.1); exit code 2 when anything would change',
    )
    .argument('<file>', 'description in YAML or JSON; - is standard input')
    .requiredOption('--app <slug>', 'app that gets the endpoints; created if it does not exist')
    .option(
      '--api-version <label>',
      'version of the app; default: v and the major version of the description',
    )
    .option('--revision <label>', 'revision that gets the endpoints', 'r1')
    .option('--gateway-path <path>', 'path of a new app; default: / and its slug')
    .option('--backend <url>', 'backend of a new revision; default: the first server of the description')
    .option('--security', 'carry the security of operations over to policies')
    .option('--apply', 'apply the plan')
    .option('-o, --out <file>', 'write a configuration file instead; needs no gateway')
    .action((file: string, flags: OpenApiFlags) => importOpenApi(file, flags, io));
  addExamples(
    openapi,
    'headgate import openapi shop.yaml --app shop --security',
    'headgate import openapi shop.yaml --app shop --apply',
    'headgate import openapi shop.yaml --app shop --out gateway.yaml',
  );
}
