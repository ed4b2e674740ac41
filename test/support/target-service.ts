/** A service over a fleet of targets, and clients that say which target has answered. */
import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { targetsOf, type FleetTarget } from './backends/target-fleet.ts';
import type { TestGateway } from './gateway.ts';
import { until } from './measure/until.ts';
import { createApp, createVersion, versionPath, type Fields } from './traffic.ts';

/** App `/<slug>` with version `v1` and one current revision over these targets. */
export async function serviceOver(
  gateway: TestGateway,
  slug: string,
  fleet: readonly FleetTarget[],
  fields: Fields = {},
): Promise<void> {
  await createApp(gateway, slug);
  await createVersion(gateway, slug);
  await gateway.must('POST', `${versionPath(slug)}/revisions`, {
    revision: 'r1',
    backend_scheme: 'http',
    targets: targetsOf(fleet),
    is_current: true,
    ...fields,
  });
}

export interface TargetAnswer {
  readonly status: number;
  /** Of the fleet; '' where no target has answered. */
  readonly target: string;
  readonly cookie: string | undefined;
}

/** One GET on a kept connection. */
export function getTarget(
  gateway: TestGateway,
  agent: Agent,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<TargetAnswer> {
  return new Promise((resolve, reject) => {
    const call = httpRequest(`${gateway.proxy}${path}`, { agent, headers }, (response) => {
      response.resume();
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          target: String(response.headers['x-target'] ?? ''),
          cookie: response.headers['set-cookie']?.[0],
        }),
      );
    });
    call.on('error', reject);
    call.end();
  });
}

export interface TargetLoad {
  readonly answers: readonly TargetAnswer[];
  /** Statuses other than 200, and errors. */
  readonly failures: readonly string[];
  /** Resolves after so many more answers. */
  more(count: number): Promise<unknown>;
  stop(): Promise<void>;
}

/** A hundred requests a second from each client: more would find nothing else, and take the processors of others. */
const PAUSE_MS = 10;

/** Clients that send GETs one after another until they are stopped. */
export function loadTargets(gateway: TestGateway, path: string, clients: number): TargetLoad {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const answers: TargetAnswer[] = [];
  const failures: string[] = [];
  let isOver = false;
  const run = async (): Promise<void> => {
    while (!isOver) {
      try {
        const answer = await getTarget(gateway, agent, path);
        answers.push(answer);
        if (answer.status !== 200) failures.push(String(answer.status));
      } catch (error) {
        failures.push(String(error));
      }
      await pause(PAUSE_MS);
    }
  };
  const running = Array.from({ length: clients }, run);
  return {
    answers,
    failures,
    more: (count) => {
      const from = answers.length;
      return until(() => answers.length >= from + count, 60_000);
    },
    stop: async () => {
      isOver = true;
      await Promise.all(running);
      agent.destroy();
    },
  };
}
