/** What a proxy is to the bench: something that can be started on given cores and then listens on a port. */
import type { Cores } from '../cores.ts';
import type { RunningProgram } from '../processes.ts';

export interface PeerSetup {
  readonly originPort: number;
  readonly cores: Cores;
  readonly workers: number;
  /** Whether one line per request is written to a file. */
  readonly accessLog: boolean;
  /** Headgate's goes to a pipe instead, with a reader. */
  readonly logToPipe?: boolean;
}

export interface Peer {
  readonly name: string;
  start(setup: PeerSetup): Promise<RunningProgram>;
}
