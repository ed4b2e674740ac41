/**
 * The state of a gateway as a text without spaces, for another gateway: JSON in base64url. It is checked before it is
 * used, because the sender may have another version.
 */
import { Check } from 'typebox/value';
import { GatewayStateSchema, type GatewayState } from './state-schema.ts';

export interface ToldState {
  /** Name of the gateway. */
  readonly node: string;
  readonly state: GatewayState;
}

export function encodedState(told: ToldState): string {
  return Buffer.from(JSON.stringify(told)).toString('base64url');
}

/** undefined: of another version, or not an answer. */
export function decodedState(text: string): ToldState | undefined {
  try {
    const told = JSON.parse(Buffer.from(text, 'base64url').toString()) as Partial<ToldState> | null;
    const state: unknown = told?.state;
    if (typeof told?.node !== 'string' || !Check(GatewayStateSchema, state)) return undefined;
    return { node: told.node, state };
  } catch {
    return undefined;
  }
}
