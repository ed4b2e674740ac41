/** Assertions for programmer errors. Nothing that arrives from a network may reach one. */

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Assertion failed: ${message}`);
}

/** For the `default` of a switch over a union: a compile-time proof that every case is handled. */
export function unreachable(value: never): never {
  throw new Error(`Assertion failed: unexpected value ${String(value)}`);
}
