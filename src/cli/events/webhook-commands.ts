/** `headgate webhooks …`: the receivers of events, the state of deliveries, and events that were given up. */
import { column, type EverydayCommand, type EverydayGroup } from '../everyday/everyday-command.ts';
import { wholeNumber } from '../whole-number.ts';

const WEBHOOK = '/webhooks/{webhook}';
const LETTERS = `${WEBHOOK}/dead-letters`;

const switched = (name: 'pause' | 'resume', isActive: boolean, summary: string): EverydayCommand => ({
  name,
  summary,
  method: 'PATCH',
  path: WEBHOOK,
  body: { is_active: isActive },
  shown: {
    as: 'done',
    text: isActive ? '{webhook} gets the waiting events.' : 'Nothing more is sent to {webhook}.',
  },
  examples: [`headgate webhooks ${name} on-call`],
});

const COMMANDS: readonly EverydayCommand[] = [
  {
    name: 'list',
    summary: 'list the webhooks',
    method: 'GET',
    path: '/webhooks',
    isPaged: true,
    shown: {
      as: 'list',
      columns: [
        column('NAME', 'name'),
        column('URL', 'url'),
        column('EVENTS', 'events'),
        column('APPS', 'app_ids'),
        column('ACTIVE', 'is_active'),
        column('ID', 'id'),
      ],
    },
    examples: ['headgate webhooks list'],
  },
  {
    name: 'status',
    summary: 'show the state of the deliveries of all webhooks',
    method: 'GET',
    path: '/webhook-deliveries',
    shown: {
      as: 'list',
      columns: [
        column('NAME', 'name'),
        column('STATE', 'state'),
        column('WAITING', 'waiting'),
        column('DELIVERED', 'delivered'),
        column('DEAD', 'dead_letters'),
        column('NEXT TRY', 'next_try_at'),
        column('LAST ERROR', 'last_error'),
      ],
    },
    examples: ['headgate webhooks status', 'headgate webhooks status --output json'],
  },
  {
    name: 'show',
    summary: 'show a webhook, without its secret',
    method: 'GET',
    path: WEBHOOK,
    shown: { as: 'record' },
    examples: ['headgate webhooks show on-call'],
  },
  {
    name: 'create',
    summary: 'make a webhook; its secret is shown once',
    method: 'POST',
    path: '/webhooks',
    made: { argument: 'name', description: 'what it is for', fields: (name) => ({ name }) },
    fields: 'webhook',
    shown: { as: 'secret', field: 'secret' },
    examples: [
      'headgate webhooks create on-call url=https://hooks.example.com/headgate events=breaker.*,key.*',
      'headgate webhooks create audit url=https://audit.example.com/ secret=@secret.txt',
    ],
  },
  {
    name: 'edit',
    summary: 'change fields of a webhook',
    method: 'PATCH',
    path: WEBHOOK,
    fields: 'webhook',
    shown: { as: 'record' },
    examples: ['headgate webhooks edit on-call events=*'],
  },
  {
    name: 'rotate',
    summary: 'give a webhook a new secret, which is shown once',
    method: 'POST',
    path: `${WEBHOOK}/rotate`,
    options: [
      {
        flags: '--overlap <seconds>',
        description: 'how long events are also signed with the old secret; default: 86400',
        body: (text) => ({ overlap_secs: wholeNumber('--overlap', String(text), 0) }),
      },
    ],
    shown: { as: 'secret', field: 'secret' },
    examples: ['headgate webhooks rotate on-call --overlap 3600'],
  },
  {
    name: 'test',
    summary: 'send a test event now, and show what the receiver answers; exit code 1 when it did not take it',
    method: 'POST',
    path: `${WEBHOOK}/test`,
    shown: { as: 'record' },
    isFailed: ({ is_delivered: isDelivered }) => isDelivered === false,
    examples: ['headgate webhooks test on-call'],
  },
  switched('pause', false, 'send nothing more to a webhook; events wait as long as they are kept'),
  switched('resume', true, 'send to a webhook again, waiting events first'),
  {
    name: 'delete',
    summary: 'delete a webhook and its dead letters',
    method: 'DELETE',
    path: WEBHOOK,
    shown: { as: 'done', text: 'Deleted: {webhook}.' },
    examples: ['headgate webhooks delete on-call'],
  },
  {
    name: 'dead-letters',
    summary: 'list the events that a webhook did not get',
    method: 'GET',
    path: LETTERS,
    isPaged: true,
    shown: {
      as: 'list',
      columns: [
        { title: 'EVENT', value: ({ event }) => event.id },
        { title: 'TYPE', value: ({ event }) => event.type },
        { title: 'ABOUT', value: ({ event }) => event.subject.name },
        column('TRIES', 'tries'),
        column('GIVEN UP', 'failed_at'),
        column('ERROR', 'error'),
        column('RESENT', 'is_resent'),
      ],
    },
    examples: ['headgate webhooks dead-letters on-call'],
  },
  {
    name: 'resend',
    summary: 'send again all events that a webhook did not get',
    method: 'POST',
    path: `${WEBHOOK}/resend`,
    shown: { as: 'record' },
    examples: ['headgate webhooks resend on-call'],
  },
  {
    name: 'resend-event',
    summary: 'send again one event that a webhook did not get',
    method: 'POST',
    path: `${LETTERS}/{event}/resend`,
    shown: { as: 'record' },
    examples: ['headgate webhooks resend-event on-call 0190b0a4-6f3e-7c1a-9d52-3f1c5e2a7b10'],
  },
  {
    name: 'forget',
    summary: 'forget all events that a webhook did not get',
    method: 'DELETE',
    path: LETTERS,
    shown: { as: 'done', text: 'The dead letters of {webhook} are gone.' },
    examples: ['headgate webhooks forget on-call'],
  },
  {
    name: 'forget-event',
    summary: 'forget one event that a webhook did not get',
    method: 'DELETE',
    path: `${LETTERS}/{event}`,
    shown: { as: 'done', text: 'Forgotten: {event}.' },
    examples: ['headgate webhooks forget-event on-call 0190b0a4-6f3e-7c1a-9d52-3f1c5e2a7b10'],
  },
];

export const EVENT_GROUPS: readonly EverydayGroup[] = [
  {
    name: 'webhooks',
    summary: 'where events are sent, and the state of their deliveries',
    commands: COMMANDS,
  },
];
