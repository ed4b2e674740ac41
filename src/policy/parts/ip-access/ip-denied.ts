/** The error and the reason of `ip_access`. */
import { partError } from '../../../model/errors.ts';
import type { ReasonKind } from '../../../model/reason.ts';
import type { Decision } from './decision.ts';

export const IP_DENIED_ERROR = partError('ip_denied', {
  status: 403,
  title: 'The address of the client is not allowed',
  source: 'downstream',
  retry: 'never',
});

export interface DeniedAddress extends Pick<Decision, 'list' | 'entry'> {
  readonly address: string;
}

export const IP_DENIED: ReasonKind<DeniedAddress> = {
  code: IP_DENIED_ERROR.code,
  detail: ({ address, list, entry }) =>
    entry === null
      ? `No entry of ${list} contains ${address}`
      : `The entry ${entry} of ${list} contains ${address}`,
  sentence: () => 'Requests from this address are not allowed here',
};
