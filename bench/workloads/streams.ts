/** Bodies of 10 MiB in eight streams at once, down and up: throughput, and that memory does not grow with them. */
import type { Load } from '../load.ts';
import { haproxyBare } from '../peers/haproxy.ts';
import { nginxBare } from '../peers/nginx.ts';
import { STREAM_BYTES } from '../peers/origin.ts';
import { ratio, type WorkloadResult } from '../report.ts';
import { PREFIX } from '../service.ts';
import { bareHeadgate } from './pass-through.ts';
import { compete, type Workload, type WorkloadContext } from './workload.ts';

const STREAMS = 8;
/** Eight streams hold some hundred KiB of buffers each; what a body of 10 MiB kept whole would take is far more. */
const GROWTH_MIB_MAX = 32;

const streams = (id: string, title: string, load: Load): Workload => ({
  id,
  title,
  run: async (context: WorkloadContext): Promise<WorkloadResult> => {
    const peers = [bareHeadgate(), nginxBare, haproxyBare];
    const figures = await compete(
      context,
      peers.map((peer) => ({ peer, load: () => load })),
    );
    const headgate = figures[0];
    return {
      figures,
      checks: [
        ratio(figures, 'headgate', nginxBare.name, 'requestsPerSecond', { atLeast: 0.9 }),
        ratio(figures, 'headgate', nginxBare.name, 'cpuUs'),
        {
          what: 'peak memory above the level after warming up',
          value: (headgate?.grownBytes ?? NaN) / 1048576,
          atMost: GROWTH_MIB_MAX,
          unit: 'MiB',
        },
      ],
    };
  },
});

export const download = streams('f-download', '10 MiB responses, 8 streams, no policy', {
  connections: STREAMS,
  requests: [{ path: `${PREFIX}/download` }],
  timeoutSecs: 60,
});

export const upload = streams('f-upload', '10 MiB request bodies, 8 streams, no policy', {
  connections: STREAMS,
  method: 'POST',
  bodyBytes: STREAM_BYTES,
  requests: [{ path: `${PREFIX}/upload`, headers: { 'Content-Type': 'application/octet-stream' } }],
  timeoutSecs: 60,
});
