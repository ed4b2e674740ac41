/** Policies compiled as a worker compiles them, for programs that time parts of the gateway without a network. */
import { Egress } from '../src/egress/egress.ts';
import { createOwnPorts, OwnListeners } from '../src/egress/own-listeners.ts';
import { systemClock } from '../src/lib/clock.ts';
import { SharedConcurrencyStore } from '../src/limits/concurrency.ts';
import { createLimitMemory, SharedMemoryLimitStore } from '../src/limits/local/local-store.ts';
import { createPolicyCompiler } from '../src/policy/compile-policy.ts';
import type { CompiledPolicy } from '../src/policy/stage.ts';
import { TrustStore } from '../src/x509/trust-store.ts';
import type { KeyTable } from '../src/keys/key-table.ts';
import type { PolicyCompiler } from '../src/config/types.ts';

/** Without global limits and without metrics; limits have a memory of their own. */
export function compilerFor(keys: KeyTable): PolicyCompiler<CompiledPolicy> {
  const memory = createLimitMemory();
  const nothing = (): void => undefined;
  return createPolicyCompiler({
    clock: systemClock,
    limits: new SharedMemoryLimitStore(memory, 1),
    concurrency: new SharedConcurrencyStore(memory.concurrency, memory.hashKey, 1),
    keys,
    trust: new TrustStore(),
    jwtDefaults: {
      issuer: undefined,
      audiences: [],
      jwksUri: undefined,
      secret: undefined,
      algorithms: [],
      leewaySecs: 30,
    },
    globals: undefined,
    perIp: undefined,
    ipv6PrefixBits: 64,
    authFailuresPerMinute: 0,
    maxBodyBytes: 0,
    egress: new Egress(
      { allow: [], deny: [], unixSocketsFrom: [] },
      new OwnListeners(createOwnPorts(), systemClock),
    ),
    onAuth: nothing,
    onLimit: nothing,
    onJwksFailure: nothing,
    onJwksRecovery: nothing,
    onJwksKeySkipped: nothing,
  });
}
