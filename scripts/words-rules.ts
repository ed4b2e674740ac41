/**
 * The words that comments, messages, titles of tests and pages do not use, each with the word to use instead: words for
 * people where a program, request or connection is meant, expressions of older English, and former names of things.
 * Pure: checks one text; words.ts runs it over the project.
 */

interface BannedWord {
  readonly pattern: RegExp;
  readonly instead: string;
}

const plain = (words: string, instead: string): BannedWord => ({
  // In backquotes it is the name of something, such as the user `nobody`.
  pattern: new RegExp(`(?<![\`\\w])(?:${words})\\b`, 'g'),
  instead,
});
const name = (names: string, instead: string): BannedWord => ({
  pattern: new RegExp(`\\b(?:${names})\\b`, 'g'),
  instead,
});

const BANNED: readonly BannedWord[] = [
  plain('[Nn]obody', 'name what is absent: "no client", "nothing"'),
  plain('[Ss]omebody|[Aa]nybody', 'name the client, caller or thread'),
  plain('[Ww]hoever', 'name the client, caller or thread'),
  plain('[Tt]he ones? who', 'name the client, caller or thread'),
  {
    pattern: /(?<!`)\b[Tt]hat one(?=[.,;:!?)]|'s\b|['"`][,)])|(?<=[.;:!?] )That one\b/g,
    instead: 'name the thing again',
  },
  plain('[Mm]end(?:s|ed|ing)?', 'fix'),
  plain('[Oo]f late', 'recently'),
  plain('[Aa]s yet', 'yet'),
  plain('[Ff]or want of', 'because there is no'),
  plain('[Ii]n vain', 'without success, for nothing'),
  plain('[Cc]omes? to naught', 'fails'),
  plain('[Mm](?:et|eets) an error', 'has failed, fails'),
  plain('that is none(?! of)', 'that is not a …, that is not valid'),
  plain('[Ll]ook-alikes?', 'ambiguous path'),
  name('[kK]eptBod(?:y|ies)|takeBehind', 'BodyBuffer, prependHead'),
  name('[kK]eptPieces?|kept-pieces', 'head template cache'),
  name('[hH]eldCop(?:y|ies)|held-copies|holdsMany', 'write backlog, isOverLimit'),
  name('takeHead|giveHead', 'acquire, release'),
  name('[sS]lotClaim|slot-claim|leaveLine', 'upstream permit, cancel'),
  name('heldIn|heldPlace', 'concurrency permit'),
  name('letGo', 'release'),
  name('BreakerHandles|BreakerMove|isCalm(?:Word)?|wasCalm', 'registry, transition, isPristine'),
  name('[wW]ouldDeny|would-deny-report', 'shadow denial, shadow report'),
  name('[sS]hadowNotes|shadow-notes', 'shadow reporter'),
  name('[hH]ealthBook|[hH]ealthNotes|health-book|health-notes', 'health registry, health reporter'),
  name('[kK]eyNotes|key-notes', 'usage counter'),
  name('RepeatedWarnings|RestartPace', 'log throttle, restart backoff'),
  name('InstanceFile|instance-file|standIn', 'pid file, fallback'),
  plain('[Hh]and-overs?', 'takeover of a process, transfer of data'),
  name('Rehearsal|callWaits|call-waits', 'dry run, deadline budget'),
  name('TokenMemory|RememberedKeys', 'token cache, key cache'),
  name('lookingContext|PolicyLooks', 'read-only context, counter reads'),
  name('restFrom|restInPath', 'suffix start'),
  name('TouchedConfig|ConfigFollower', 'change set, config sync'),
  name('mend_keys|mend_backend', 'fix_keys, fix_backend'),
];

export interface FoundWord {
  readonly line: number;
  readonly word: string;
  readonly instead: string;
}

/** Every banned word of a text, in the order of its lines. */
export function bannedWords(text: string): FoundWord[] {
  const found: FoundWord[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    for (const { pattern, instead } of BANNED) {
      for (const [word] of line.matchAll(pattern)) found.push({ line: index + 1, word, instead });
    }
  }
  return found;
}
