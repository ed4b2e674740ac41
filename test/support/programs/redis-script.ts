/**
 * Runs the scripts of limits on a real server with a clock that the test moves: the text is the one that gateways send,
 * but for the one call that reads the server's clock.
 */
import { createClient } from '@redis/client';
import {
  type GrantReply,
  type GrantRequest,
  NOTHING_ASKED,
} from '../../../src/limits/shared/limit-server.ts';
import { grantArguments } from '../../../src/limits/shared/redis/redis-server.ts';
import { SCRIPT_OF } from '../../../src/limits/shared/redis/redis-scripts.ts';
import type { LimitRule } from '../../../src/limits/store.ts';

/** The call that reads the server's clock, and what takes its place. */
const [CLOCK, TEST_CLOCK] = ["redis.call('TIME')", '{ ARGV[#ARGV - 1], ARGV[#ARGV] }'];

export interface ScriptRunner {
  /** @param request what is not given is as in a call that takes nothing */
  run(rule: LimitRule, key: string, nowMs: number, request: Partial<GrantRequest>): Promise<GrantReply>;
  close(): void;
}

export async function scriptRunner(url: string): Promise<ScriptRunner> {
  const client = createClient({ url, RESP: 2 });
  client.on('error', () => undefined);
  await client.connect();
  const shas = new Map<string, Promise<unknown>>();
  /** Sends the text once, not with each call. */
  const shaOf = (text: string): Promise<unknown> => {
    const sha = shas.get(text) ?? client.sendCommand(['SCRIPT', 'LOAD', text.replace(CLOCK, TEST_CLOCK)]);
    shas.set(text, sha);
    return sha;
  };
  return {
    run: async (rule, key, nowMs, request) => {
      const sha = String(await shaOf(SCRIPT_OF[rule.algorithm].text));
      const full = { ...NOTHING_ASKED, leaseMs: 1, owedLately: request.owed ?? 0, ...request, rule, key };
      const time = [Math.floor(nowMs / 1000), (nowMs % 1000) * 1000];
      const texts = [...grantArguments(full), ...time.map(String)];
      const reply = (await client.sendCommand(['EVALSHA', sha, '1', key, ...texts])) as number[];
      const [granted = 0, left = 0, waitMs = 0, resetMs = 0, validMs = 0, window = 0] = reply;
      return { granted, left, waitMs, resetMs, validMs, window };
    },
    close: () => client.destroy(),
  };
}
