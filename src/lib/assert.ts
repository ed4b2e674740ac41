/** Assertions for programmer errors. Nothing that arrives from a network may reach one. */

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Assertion failed: ${message}`);
}
