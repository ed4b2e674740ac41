/** Settings of proxy threads, shutdown, API key counts and recorded requests. */
import { availableParallelism } from 'node:os';
import { FULL_SHARES, memoryShares, workersFor } from '../memory-shares.ts';
import { boolean, integer, type Setting } from '../settings-values.ts';

const DAY_MS = 86_400_000;

export const PROCESS_SETTINGS = {
  GATEWAY_WORKERS: integer(
    { min: 1, max: 256 },
    {
      default: workersFor(availableParallelism()),
      defaultText:
        'number of cores, or fewer where there is less memory than 96 MiB and 128 MiB for each of them',
      description: 'Number of proxy threads, each with its own event loop.',
    },
  ),
  GATEWAY_WORKER_STALL_TIMEOUT_MS: integer(
    { min: 0, max: DAY_MS },
    {
      default: 1_000,
      description:
        'Milliseconds of processor time that a proxy thread may use without completing a turn of its event loop. A thread that uses more is replaced. A thread that still reads and writes, or that stands still without using the processor, is replaced after ten times as long. 0: never.',
    },
  ),
  GATEWAY_WORKER_SPARE: boolean({
    default: true,
    description: 'Keep one more proxy thread ready, which starts to listen as soon as another is lost.',
  }),
  GATEWAY_PROXY__DRAIN_GRACE_MS: integer(
    { min: 0, max: DAY_MS },
    {
      default: 0,
      description:
        'Milliseconds for which traffic is still accepted after the process was asked to stop. During this time `/readyz` says that the process stops, so that load balancers that ask rarely notice it.',
    },
  ),
  GATEWAY_PROXY__DRAIN_TIMEOUT_MS: integer(
    { min: 0, max: DAY_MS },
    {
      default: 30_000,
      description:
        'Milliseconds that requests under way may take to end after the process was asked to stop.',
    },
  ),
  GATEWAY_KEY_USAGE_DAYS: integer(
    { min: 1, max: 3_660 },
    {
      default: 400,
      description: 'Days for which the requests of each API key are counted, today included.',
    },
  ),
  GATEWAY_TRAFFIC__RECORDS: integer(
    { min: 0, max: 100_000 },
    {
      default: 10_000,
      description:
        'Number of recent requests that are kept in memory, without bodies, queries and credentials, so that a plan can say which of them would get a different answer. 0: none.',
    },
  ),
  GATEWAY_TRAFFIC__RECORDS_PER_SEC: integer(
    { min: 1, max: 100_000 },
    {
      default: 500,
      description: 'If more requests arrive in a second, an evenly spread sample of this many is kept.',
    },
  ),
  GATEWAY_STATS__MAX_BYTES: integer(
    { min: 0, max: 1_073_741_824 },
    {
      default: FULL_SHARES.statsBytes,
      defaultFor: (facts) => memoryShares(facts).statsBytes,
      defaultText: '`67108864`, or a sixteenth of the memory of the machine or container where that is less',
      description:
        'Maximum bytes of memory for the time series of traffic that the gateway itself keeps (`GET /api/v1/stats`): the last 15 minutes by seconds, the last day by minutes. When it is used up, the least used routes, keys and versions lose their time series, then the least used apps. 0: no time series are kept.',
    },
  ),
} as const satisfies Record<string, Setting<unknown>>;
