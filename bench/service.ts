/**
 * The service that every proxy of the "full policy" workload is configured with, in each one's own terms: 10,000
 * registered routes, API keys with scopes, a fixed-window limit that is never reached, CORS for one origin.
 */
import { createHash } from 'node:crypto';
import { API_KEY_PREFIX, createToken } from '../src/model/token.ts';
import type { LoadRequest } from './load.ts';

export const ORIGIN = 'https://app.example.com';
export const SCOPE = 'orders:read';
export const LIMIT_REQUESTS = 1_000_000_000;
export const LIMIT_WINDOW_SECS = 3600;

export const APP = 'shop';
export const PREFIX = `/${APP}/v1`;
/** The path that is asked for, and what the origin gets. */
export const ORDER_PATH = `${PREFIX}/orders/42`;

export const FILLER_ENDPOINTS = 10_000;
export const ENDPOINTS_PER_VERSION = 10;
const VERSIONS_PER_APP = 100;

/** Gateway path of the version with that number: one app holds a hundred of them. */
export function fillerPrefix(version: number): string {
  return `/app${Math.floor(version / VERSIONS_PER_APP)}/v${version % VERSIONS_PER_APP}`;
}

export function fillerApp(version: number): number {
  return Math.floor(version / VERSIONS_PER_APP);
}

/** `/{resource}/{id}` below the version's prefix. */
export function fillerResource(endpoint: number): string {
  return `resource${endpoint}`;
}

/** Prefix and resource of every route, the measured one first. */
export function* routeKeys(fillerEndpoints: number): IterableIterator<string> {
  yield `${PREFIX}/orders`;
  for (let endpoint = 0; endpoint < fillerEndpoints; endpoint++) {
    const prefix = fillerPrefix(Math.floor(endpoint / ENDPOINTS_PER_VERSION));
    yield `${prefix}/${fillerResource(endpoint % ENDPOINTS_PER_VERSION)}`;
  }
}

/** API keys that are the same in every run. */
export function benchToken(number: number): string {
  return createToken(API_KEY_PREFIX, createHash('sha256').update(`bench key ${number}`).digest());
}

export function orderRequest(token: string): LoadRequest {
  return { path: ORDER_PATH, headers: { Authorization: `Bearer ${token}`, Origin: ORIGIN } };
}
