/** The schema of `per`: whose requests a limit counts together. */
import { Type } from 'typebox';
import { PER_PATTERN } from '../../model/patterns.ts';

export const PerSchema = Type.String({
  pattern: PER_PATTERN,
  maxLength: 256,
  default: 'scope',
  description:
    'Whose requests are counted together: `scope` (all under the level that set the limit), `api_key`, `ip`, `header:<name>` or `claim:<name>`.',
});
