/** Turns rules of routers into methods and patterns. Other conditions of a rule are reported. */
import { isOneSegment, literalBeginning, readKongPath, widerThanRegex } from '../kong/kong-paths.ts';
import { ENDPOINT_METHODS, type ImportedPattern, type SegmentMatchers } from '../imported-route.ts';
import { literalSegments, sharedPaths, type Segments } from '../route-patterns.ts';
import { HOSTS_ELSEWHERE, type AskedHost } from '../route-hosts.ts';
import type { SourceNode } from '../source.ts';
import { readRule, type Matcher } from './rule.ts';

/** Alternatives of a rule with the same methods. */
export interface RuleMatch {
  readonly methods: readonly string[];
  readonly patterns: readonly ImportedPattern[];
  readonly hosts: readonly AskedHost[];
  /** The rule has a matcher that cannot be expressed, and the patterns are wider. */
  readonly isLeftOut: boolean;
}

const NAMES_HOST = ['Host', 'HostHeader'];
const PATH_MATCHERS = ['Path', 'PathPrefix', 'PathRegexp'];
const WITHOUT_HOST = ['HostRegexp', 'HostSNI'];

/** Empty when no alternative can be imported, which is reported. */
export function matchesOf(router: SourceNode, rule: string, priority: readonly number[]): RuleMatch[] {
  const alternatives = readRule(rule);
  if (alternatives === undefined) {
    router.lost('is a rule that cannot be read', undefined, 'rule');
    return [];
  }
  return alternatives.flatMap((matchers) => {
    const match = matchOf(router, matchers, priority);
    return match === undefined ? [] : [match];
  });
}

function matchOf(
  router: SourceNode,
  matchers: readonly Matcher[],
  priority: readonly number[],
): RuleMatch | undefined {
  let methods: readonly string[] | undefined;
  let patterns: readonly Segments[] = [['*']];
  let isLeftOut = false;
  let isTextPrefix = false;
  let isWider = false;
  let segmentMatchers: SegmentMatchers | undefined;
  const hosts: AskedHost[] = [];
  const excluded: Segments[] = [];
  for (const { name, args, isNegated } of matchers) {
    const shown = `${isNegated ? '!' : ''}${name}(${args.map((arg) => `\`${arg}\``).join(', ')})`;
    const leaveOut = (why: string, nearest?: string): void => {
      if (!isLeftOut) router.lost(`has an alternative with ${shown}: ${why}`, nearest, 'rule');
      isLeftOut = true;
    };
    const lost = (): void => {
      router.lost(`asks for ${shown}, but is served under every name here`, HOSTS_ELSEWHERE, 'rule');
    };
    if (isNegated) {
      leaveOut('a route cannot exclude requests');
      isWider = true;
      excluded.push(...args.flatMap((arg) => excludedPaths(name, arg)));
    } else if (NAMES_HOST.includes(name) && hosts.length === 0) {
      // One finding for all names.
      hosts.push(...args.map((text, index) => ({ text, lost: index === 0 ? lost : () => undefined })));
    } else if (NAMES_HOST.includes(name) || WITHOUT_HOST.includes(name)) {
      lost();
    } else if (name === 'Method') {
      const own = methodsOf(args, router, leaveOut);
      methods = methods === undefined ? own : own?.filter((method) => methods?.includes(method));
    } else if (PATH_MATCHERS.includes(name)) {
      const own = args.flatMap((arg): readonly Segments[] => {
        const read = patternsOf(name, arg, router);
        if (read === undefined) leaveOut('a path pattern cannot express that', 'a path of its own');
        isWider ||= read?.isWider ?? true;
        if (read === undefined && name === 'PathRegexp' && arg.startsWith('^'))
          segmentMatchers = widerThanRegex(arg).matchers;
        return read?.patterns ?? [widerPath(name, arg)];
      });
      isTextPrefix ||= name === 'PathPrefix' && args.some((arg) => !arg.endsWith('/'));
      patterns = patterns.flatMap((one) => own.flatMap((other) => sharedPaths(one, other)));
    } else leaveOut('a route is chosen by path and method', name === 'ClientIP' ? '`ip_access`' : undefined);
  }
  if (patterns.length === 0 || methods?.length === 0) {
    if (!isLeftOut) router.lost('has an alternative that no request matches', undefined, 'rule');
    return undefined;
  }
  return {
    methods: methods ?? ['*'],
    patterns: patterns.map((segments) => ({
      segments,
      drop: 0,
      priority,
      node: router,
      isTextPrefix,
      isWider,
      matchers: segmentMatchers,
      excluded,
    })),
    hosts: isLeftOut ? [] : hosts,
    isLeftOut,
  };
}

/** undefined: all, where endpoints cannot have the methods. */
function methodsOf(
  args: readonly string[],
  router: SourceNode,
  leaveOut: (why: string, nearest?: string) => void,
): readonly string[] | undefined {
  const asked = args.map((arg) => arg.toUpperCase());
  const own = [...new Set(asked.filter((method) => method !== 'HEAD'))];
  if (!own.every((method) => ENDPOINT_METHODS.includes(method))) {
    leaveOut('no endpoint has this method', '`allowed_methods`');
    return undefined;
  }
  if (own.length === 0) {
    leaveOut('the endpoint of GET also serves HEAD');
    return ['GET'];
  }
  if (asked.includes('GET') && !asked.includes('HEAD'))
    router.changed('also allows HEAD, because it allows GET', undefined, 'rule');
  return own;
}

/** Paths that a negated matcher keeps from the rule: none where that cannot be told, and no more than it does. */
function excludedPaths(name: string, arg: string): Segments[] {
  const literals = literalSegments(arg);
  if (literals === undefined || !['Path', 'PathPrefix'].includes(name)) return [];
  return [name === 'Path' ? literals : [...literals, '*']];
}

/** A path that takes at least all requests of one that cannot be expressed. */
function widerPath(name: string, arg: string): Segments {
  if (name !== 'PathRegexp') return literalBeginning(arg.split('{', 1)[0] ?? '');
  return arg.startsWith('^') ? widerThanRegex(arg).segments : ['*'];
}

interface Read {
  readonly patterns: readonly Segments[];
  /** They match more than the argument. */
  readonly isWider: boolean;
}

function patternsOf(name: string, arg: string, router: SourceNode): Read | undefined {
  if (name === 'PathRegexp') {
    const read = arg.startsWith('^') ? readKongPath(`~${arg}`, false) : undefined;
    if (read === undefined || 'problem' in read) return undefined;
    for (const difference of read.differences) router.changed(`${arg} ${difference}`, undefined, 'rule');
    return read;
  }
  const template = templateSegments(arg, router);
  if (template === undefined) return undefined;
  const { segments, isWider } = template;
  if (name === 'Path') return { patterns: [segments.length === 0 ? [''] : segments], isWider };
  if (segments.at(-1) === '' && segments.length > 1)
    router.changed(`${arg} is also answered without the slash at the end`, undefined, 'rule');
  return { patterns: [[...(segments.at(-1) === '' ? segments.slice(0, -1) : segments), '*']], isWider };
}

/** Words of which one is a whole segment. */
const WORDS = /^\(?(?:\?:)?[\w-]+(?:\|[\w-]+)*\)?$/;

/** Literal segments, and `{name}` and `{name:regexp}` of Traefik 2. */
function templateSegments(
  path: string,
  router: SourceNode,
): { readonly segments: Segments; readonly isWider: boolean } | undefined {
  const parts: string[] = [];
  let isWider = false;
  for (const [index, part] of splitTemplate(path).entries()) {
    const [, name, expression = '[^/]+'] = /^\{([A-Za-z_]\w*)(?::(.+))?\}$/.exec(part) ?? [];
    if (name !== undefined) {
      if (expression !== '[^/]+') {
        if (!isOneSegment(expression) && !WORDS.test(expression)) return undefined;
        router.changed(`${part} matches any one segment`, undefined, 'rule');
        isWider = true;
      }
      parts.push(`{p${index}}`);
      continue;
    }
    const literal = literalSegments(`/${part}`);
    if (literal === undefined) return undefined;
    parts.push(...(part === '' ? [''] : literal));
  }
  if (!path.startsWith('/')) return undefined;
  const segments = parts.slice(1);
  return { segments: segments.length === 1 && segments[0] === '' ? [] : segments, isWider };
}

/** Splits at slashes outside of braces. */
function splitTemplate(path: string): string[] {
  return path.split(/\/(?![^{]*\})/);
}
