/** Settings of the log and the access log. */
import { ACCESS_FIELDS, ACCESS_MODES, type AccessField } from '../../model/access-fields.ts';
import { list, oneOf, type Parsed, type Setting } from '../settings-values.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export const LOG_FORMATS = ['json', 'text'] as const;

function accessField(name: string): Parsed<AccessField> {
  const found = ACCESS_FIELDS.find((candidate) => candidate === name);
  return found === undefined
    ? { expected: `names from ${ACCESS_FIELDS.join(', ')}, separated by commas` }
    : { value: found };
}

export const LOG_SETTINGS = {
  GATEWAY_LOG__LEVEL: oneOf(LOG_LEVELS, {
    default: 'info',
    description: 'Least severe level that is logged.',
  }),
  GATEWAY_LOG__FORMAT: oneOf(LOG_FORMATS, {
    default: 'json',
    description: 'One JSON object per line, or text for people.',
  }),
  GATEWAY_LOG__ACCESS: oneOf(
    ACCESS_MODES,
    {
      default: 'all',
      description:
        'Which requests are logged: `all`; `errors`: requests with a status of 400 or above, with an error, or that ended before the response was complete; or `off`. `true` and `false` stand for `all` and `off`.',
    },
    { true: 'all', '1': 'all', false: 'off', '0': 'off' },
  ),
  GATEWAY_LOG__ACCESS_FIELDS: list('names of fields, comma-separated', accessField, {
    default: ACCESS_FIELDS,
    defaultText: 'all of them',
    description: `Fields of these lines, in addition to \`level\`, \`time\` and \`msg\`: ${ACCESS_FIELDS.map((name) => `\`${name}\``).join(', ')}.`,
  }),
} as const satisfies Record<string, Setting<unknown>>;
