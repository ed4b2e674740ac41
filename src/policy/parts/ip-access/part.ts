/**
 * The policy part `ip_access`: which client addresses may call, decided before authentication. `deny` wins; a list
 * `allow` refuses all others. The address is the one that trusted proxies report (forwarded.ts), in canonical
 * form, so that IPv4-mapped IPv6 addresses count as IPv4, in requests and in the lists.
 */
import { definePart, type CompileContext, type PartContribution } from '../../part.ts';
import { accessTable, decide, type AccessTable } from './decision.ts';
import { entryErrors } from './entries.ts';
import { ipAccessExplain } from './explain.ts';
import { IP_DENIED, IP_DENIED_ERROR } from './ip-denied.ts';
import { IpAccessSchema, isOff, type IpAccessPolicy } from './schema.ts';
import { ipDeniesAllAllowed } from './warnings.ts';

const TEXT = `- \`deny\` wins over \`allow\`, whatever the order and the length of the prefixes. If \`allow\` is not empty, every address that it does not contain is refused.
- The address of the client is the same as in the access log: behind a proxy of \`GATEWAY_TRUSTED_PROXY_IPS\`, it is the address that the proxy reports.
- IPv4-mapped IPv6 addresses (\`::ffff:192.0.2.7\`) count as IPv4 addresses, in requests and in the lists. IPv6 blocks contain no IPv4 address: \`::/0\` is all of IPv6, but not IPv4.
- A block with bits set after its prefix (\`10.1.2.3/8\`) is refused with 422, and so is an entry that repeats another one in a different notation.
- A preflight is answered before the address is checked.
- The client gets 403 \`ip_denied\`, which does not reveal the lists. Explain, the shadow report and the log name the entry that decided.
- 10,000 entries cost a request hardly more than ten, because the gateway uses a binary search.`;

export const IP_ACCESS = definePart({
  name: 'ip_access',
  schema: IpAccessSchema,
  docs: {
    summary: 'which client addresses may call',
    example: { allow: ['10.0.0.0/8', '2001:db8::/32'], deny: ['10.9.0.0/16'] },
    text: TEXT,
  },
  off: { example: {}, is: isOff },
  mayShadow: true,
  stages: [{ name: 'ip_access', phase: 'address' }],
  errors: [IP_DENIED_ERROR],
  warnings: [ipDeniesAllAllowed],
  explain: ipAccessExplain,
  rules: entryErrors,
  isProtective: true,
  prepared: { make: accessTable },
  compile: compileIpAccess,
});

function compileIpAccess(
  policy: IpAccessPolicy | undefined,
  { prepared: table, inShadow }: CompileContext<undefined, AccessTable>,
): PartContribution | undefined {
  if (policy === undefined || table === undefined || isOff(policy)) return undefined;
  const run = ({ clientIp }: { readonly clientIp: string }) => {
    const { allowed, list, entry } = decide(table, clientIp);
    return allowed ? undefined : { kind: IP_DENIED, data: { address: clientIp, list, entry } };
  };
  return { stages: [{ part: 'ip_access', shadow: inShadow, run }] };
}
