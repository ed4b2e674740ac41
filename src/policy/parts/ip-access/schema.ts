/** Schema of the policy part `ip_access`. What an entry may be is a rule of entries.ts. */
import { Type, type Static } from 'typebox';
import { closed } from '../../../model/schema-pieces.ts';

export const ENTRIES_MAX = 10_000;
/** The longest IPv6 notation, with an IPv4 address at its end, and the length of a prefix. */
const ENTRY_CHARS_MAX = 49;

const entries = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ maxLength: ENTRY_CHARS_MAX }), {
      maxItems: ENTRIES_MAX,
      default: [],
      description,
    }),
  );

export const IpAccessSchema = Type.Object(
  {
    allow: entries('IP addresses and CIDR blocks that may call. Empty: all that `deny` does not contain.'),
    deny: entries('IP addresses and CIDR blocks that may not call, even if `allow` contains them.'),
  },
  { ...closed, description: 'Which client addresses may call (403).' },
);
export type IpAccessPolicy = Static<typeof IpAccessSchema>;

export const LISTS = ['allow', 'deny'] as const;
export type ListName = (typeof LISTS)[number];

export function isOff({ allow = [], deny = [] }: IpAccessPolicy): boolean {
  return allow.length === 0 && deny.length === 0;
}
