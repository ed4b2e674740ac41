/**
 * The traceparent field of W3C Trace Context (Recommendation of 2021, section 3.2): `version-traceid-parentid-flags` in
 * lower-case hex. The gateway creates one where it is missing or invalid. A valid one is forwarded unchanged, or with
 * the id of the gateway's own span if the gateway exports traces.
 */

const VERSION_00_LENGTH = 55;
const shape = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-|$)/;
const zeroTraceId = '0'.repeat(32);
const zeroParentId = '0'.repeat(16);

/**
 * Whether the value can be forwarded. Version ff is invalid, version 00 has exactly four parts, and later versions may
 * have more (section 3.2.4); neither id may be all zeros.
 */
export function isValidTraceparent(value: string): boolean {
  const match = shape.exec(value);
  if (match === null || match[1] === 'ff' || match[2] === zeroTraceId || match[3] === zeroParentId)
    return false;
  return match[1] !== '00' || value.length === VERSION_00_LENGTH;
}

/** @param value valid */
export function traceparentParts(value: string): { readonly traceId: string; readonly parentId: string } {
  return { traceId: value.slice(3, 35), parentId: value.slice(36, 52) };
}

/** Whether the caller has recorded the trace (section 3.2.2.5). @param value valid */
export function isSampledTraceparent(value: string): boolean {
  return (Number.parseInt(value.slice(53, 55), 16) & 1) === 1;
}

/** A new value from 32 and 16 random lower-case hex digits. */
export function makeTraceparent(traceId: string, parentId: string, isSampled: boolean): string {
  return `00-${traceId}-${parentId}-${isSampled ? '01' : '00'}`;
}

/** Where the ids of a valid value begin, and how many digits they have. */
export const TRACE_ID = { start: 3, digits: 32 } as const;
export const PARENT_ID = { start: 36, digits: 16 } as const;
