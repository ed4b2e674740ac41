/** What the full policy adds to a response's time at half load, against the origin asked directly. */
import { figuresOf, inTurn, measureRound, quietRounds } from '../contest.ts';
import { runLoad, tryOnce, type Load } from '../load.ts';
import { residentBytes } from '../measure.ts';
import { nginxLua } from '../peers/nginx-lua.ts';
import { startOrigin } from '../peers/origin.ts';
import type { RunningProgram } from '../processes.ts';
import { benchToken, orderRequest } from '../service.ts';
import { policyContestant } from './full-policy.ts';
import { halfLoad } from './half-load.ts';
import { CONNECTIONS, type Workload } from './workload.ts';

export const latency: Workload = {
  id: 'j-latency',
  title: 'added latency of the full policy at half load',
  run: async ({ setup, pace, progress }) => {
    const contestant = policyContestant('headgate');
    const started: RunningProgram[] = [];
    try {
      const gateway = await contestant.peer.start(setup);
      started.push(gateway);
      const lua = await nginxLua.start(setup);
      started.push(lua);
      const origin = await startOrigin(setup.cores);
      started.push(origin);
      const full = contestant.load();
      await tryOnce(full, gateway.port);
      await runLoad(
        { ...full, connections: CONNECTIONS },
        gateway.port,
        pace.warmUpSeconds,
        setup.cores.load,
      );
      const load = await halfLoad(full, gateway, setup.cores);
      const luaLoad: Load = { ...load, requests: [orderRequest(benchToken(0))] };
      const entries = [
        { name: 'headgate', program: gateway, load },
        { name: nginxLua.name, program: lua, load: luaLoad },
        { name: 'direct', program: origin, load },
      ];
      const rounds = await quietRounds(pace, (round) =>
        inTurn(entries, round, ({ name, program, load: each }) => {
          progress(`round ${round} of ${pace.rounds} or more: ${name}`);
          return measureRound(each, program, pace.seconds, setup.cores);
        }),
      );
      const figures = entries.map(({ name, program }, index) =>
        figuresOf(name, rounds[index] ?? [], residentBytes(program.pid)),
      );
      const [proxied, byLua, direct] = figures;
      const added = (of: typeof proxied, measure: 'p50Us' | 'p99Us'): number =>
        ((of?.[measure] ?? NaN) - (direct?.[measure] ?? NaN)) / 1000;
      return {
        figures,
        checks: [
          { what: 'added by headgate, p50', value: added(proxied, 'p50Us'), atMost: 0.15, unit: 'ms' },
          { what: 'added by headgate, p99', value: added(proxied, 'p99Us'), atMost: 1, unit: 'ms' },
          { what: 'added by nginx+lua, p50', value: added(byLua, 'p50Us'), unit: 'ms' },
          { what: 'added by nginx+lua, p99', value: added(byLua, 'p99Us'), unit: 'ms' },
        ],
        notes: [
          `Connections: ${load.connections}. With a single one, which always has a request under way, a proxy's core may be busy for more than half of the time already.`,
        ],
      };
    } finally {
      await Promise.all(started.map((program) => program.stop()));
    }
  },
};
