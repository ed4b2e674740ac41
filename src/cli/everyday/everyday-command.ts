/**
 * The description of an everyday command as data: one call of the management API, its arguments and options, and how
 * its answer is shown. add-command.ts creates a command from it; the tables in this folder list the commands.
 */
import type { Method } from '../gateway-client.ts';
import type { CliIo } from '../io.ts';
import type { Column } from '../show/text-table.ts';

/** The schema that gives `field=value` its types. */
export type BodySchema =
  | 'app'
  | 'version'
  | 'revision'
  | 'endpoint'
  | 'key'
  | 'admin-token'
  | 'traffic'
  | 'webhook'
  | 'sampling'
  | 'debug-token';

// The JSON of the management API, whose schemas are in management/schemas/.
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

export interface EverydayOption {
  readonly flags: string;
  readonly description: string;
  /** Where the value goes: into the query, or with `body` into fields of the body. */
  readonly query?: string;
  readonly body?: (value: Json, io: CliIo) => Record<string, unknown>;
  readonly default?: string;
}

/** A column with the value of one field. */
export const column = (title: string, field: string): Column<Json> => ({ title, value: (row) => row[field] });

/** How the answer is shown to people. Programs get `data` unchanged. */
type Shown =
  | { readonly as: 'list'; readonly columns: readonly Column<Json>[]; readonly rows?: (data: Json) => Json[] }
  | { readonly as: 'record' }
  | { readonly as: 'text'; readonly text: (data: Json, io: CliIo) => string }
  /** A value that is shown only this once. */
  | { readonly as: 'secret'; readonly field: string }
  | { readonly as: 'done'; readonly text: string };

export interface EverydayCommand {
  readonly name: string;
  readonly summary: string;
  readonly method: Method;
  /**
   * Below `/api/v1`. Each `{name}` is an argument of the command. A key may be given by its name, an endpoint
   * by its method and path.
   */
  readonly path: string;
  /** The last argument of a creation: its name, and the fields that it sets. */
  readonly made?: {
    readonly argument: string;
    readonly description: string;
    readonly fields: (label: string) => Record<string, unknown>;
  };
  /** An argument that becomes a parameter of the query. */
  readonly argument?: { readonly name: string; readonly description: string; readonly query: string };
  /** The command accepts `field=value` and `--file`. */
  readonly fields?: BodySchema;
  /** Fields that are always part of the body. */
  readonly body?: Readonly<Record<string, unknown>>;
  readonly options?: readonly EverydayOption[];
  /** The list has pages. */
  readonly isPaged?: true;
  readonly takesDryRun?: true;
  /** An option with which the program itself knows the answer: no gateway is called. */
  readonly offline?: {
    readonly flag: string;
    readonly description: string;
    readonly data: () => Promise<Json>;
    readonly text: (data: Json) => string;
  };
  readonly shown: Shown;
  /** Whether the answer says that it did not work: the command then ends with exit code 1. */
  readonly isFailed?: (data: Json) => boolean;
  readonly examples: readonly string[];
}

/** Commands for one kind of record, such as `headgate apps …`. */
export interface EverydayGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly EverydayCommand[];
}

/** Descriptions of the arguments of a path, by their names in it. */
export const ARGUMENTS: Readonly<Record<string, string>> = {
  app: 'slug or id of an app',
  version: 'label or id of a version',
  revision: 'label or id of a revision',
  endpoint: 'method and path of an endpoint, such as "GET /items/{id}", or its id',
  key: 'name or id of an API key',
  admin_token: 'name or id of an admin token',
  host_name: 'name for which certificates are ordered by ACME',
  webhook: 'name or id of a webhook',
  event: 'id of an event',
  debug_token: 'id of a debug token, as `headgate debug-tokens list` shows it',
  session: 'id of a session, as `headgate sessions list` shows it',
};
