/**
 * What a backend that reads paths leniently could take the endpoints of a revision for; proxy/ambiguous-path.ts says
 * why. Found out when a large revision is compiled, in steps, and for a small one with the first request that needs it:
 * most revisions of a large configuration get none.
 */
import { isPlainPath, lenientPath } from '../../http/paths/lenient-path.ts';
import type { Steps } from '../changes/slices.ts';
import {
  pathTrieSteps,
  type Alike,
  type LenientReadings,
  type PathTrie,
  type PathTrieEntry,
} from '../path-trie.ts';
import type { CompiledRoute } from '../types.ts';

type Readings<P> = LenientReadings<CompiledRoute<P>>;

/** Shared by all plain paths: a request to any of them needs no other memory. */
export const UNIFORM: LenientReadings<never> = { isUniform: true, byLenientPath: undefined };
const ALL_PLAIN: LenientReadings<never> = { isUniform: false, byLenientPath: undefined };

/** With fewer endpoints, a request does not notice it. */
const AT_FIRST_REQUEST_MAX = 500;

/** Finds the readings of a trie out that is not published yet, if it is large. */
export function* readInAdvance<P>(
  trie: PathTrie<CompiledRoute<P>>,
  fallback: CompiledRoute<P> | undefined,
): Steps<void> {
  if (trie.entries.length > AT_FIRST_REQUEST_MAX)
    trie.lenient ??= yield* lenientReadings(trie.entries, fallback);
}

/**
 * The readings after a change of one endpoint; undefined: they are found out anew.
 * @param added the path that the endpoint has now; undefined: it was removed
 */
export function readingsAfter<P>(
  before: Readings<P> | undefined,
  added: string | undefined,
): Readings<P> | undefined {
  const isPlain = before === ALL_PLAIN && (added === undefined || isPlainEndpoint(added));
  return isPlain ? ALL_PLAIN : undefined;
}

/** Uniform: all endpoints and the fallback are active and have the same policy. */
export function* lenientReadings<P>(
  endpoints: readonly CompiledRoute<P>[],
  fallback: CompiledRoute<P> | undefined,
): Steps<Readings<P>> {
  const routes = fallback === undefined ? endpoints : [...endpoints, fallback];
  if (routes.every((each) => each.active && each.effective === routes[0]?.effective)) return UNIFORM;
  const byLenientPath = yield* lenientTrie(endpoints);
  return byLenientPath === undefined ? ALL_PLAIN : { isUniform: false, byLenientPath };
}

/** undefined if every endpoint's path is its own lenient reading. */
function* lenientTrie<P>(
  routes: readonly CompiledRoute<P>[],
): Steps<PathTrie<Alike<CompiledRoute<P>>> | undefined> {
  let isPlain = true;
  for (const route of routes) {
    isPlain = isPlainEndpoint(pathOf(route));
    if (!isPlain) break;
    yield;
  }
  if (isPlain) return undefined;
  const byShape = new Map<string, PathTrieEntry<Alike<CompiledRoute<P>>>>();
  for (const route of routes) {
    yield;
    const segments = lenientSegments(pathOf(route));
    const key = `${route.method} ${segments.join('/').replaceAll(PARAMETER, '{}')}`;
    const entry = byShape.get(key);
    if (entry === undefined)
      byShape.set(key, { segments, value: { method: route.method, entries: [route] } });
    else entry.value.entries.push(route);
  }
  const trie = yield* pathTrieSteps([...byShape.values()]);
  // No two entries have the same method and shape.
  return 'first' in trie ? undefined : trie;
}

const pathOf = ({ template, version }: CompiledRoute<unknown>): string =>
  template.slice(version.gatewayPath.length);

const isPlainEndpoint = (path: string): boolean => isPlainPath(path.replaceAll(PARAMETER, 'x'));

const PARAMETER = /\{[^{}/]*\}/g;

/** Lenient reading of an endpoint's literal segments; parameters and a final "*" stay. */
function lenientSegments(path: string): string[] {
  const segments = path
    .slice(1)
    .split('/')
    .flatMap((segment) => {
      if (segment === '*' || segment.startsWith('{')) return [segment];
      const lenient = lenientPath(`/${segment}`).slice(1);
      return lenient === '' ? [] : lenient.split('/');
    });
  return segments.length === 0 ? [''] : segments;
}
