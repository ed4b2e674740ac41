/** Which change is shown elsewhere: same-change-view.tsx takes it, same-change-texts.tsx writes it. */
import type { DeclaredChange } from './declared-change.ts';
import type { Change } from './save-context.ts';

export interface SameChangeProps extends Pick<Change, 'operation' | 'options'> {
  /** The operation and the path by its template, where `operation` has the path of a record. */
  readonly template?: string;
  readonly path?: Change['options']['path'];
  /** The same in the configuration files, where it has a place there. */
  readonly declared?: DeclaredChange | undefined;
  /** False: it changes nothing that files could say. */
  readonly isConfiguration?: boolean;
  /** Name of the file that the answer goes to. */
  readonly file?: string;
  /** Of a call that applies a configuration: the configuration, as a file has it. */
  readonly config?: unknown;
  /** The call that the command begins with, where the page has made it before. */
  readonly commanded?: Pick<Change, 'operation' | 'options'>;
}
