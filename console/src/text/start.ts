/** Words of the first steps: the first app, its test request, and what comes after it. */
import { counted } from './counted.ts';

export const startWords = {
  newApp: 'Create an app',
  summary:
    'An app is an API behind the gateway: a path that clients call, and the backend that answers. Four fields are enough; all of it can be changed later.',
  viewer: 'Your token has the role viewer. Ask for one with the role editor or admin to create an app.',
  name: 'Name',
  namePlaceholder: 'Orders',
  backend: 'Backend URL',
  backendPlaceholder: 'http://127.0.0.1:3000',
  backendHint:
    'Where the API runs now, as this gateway reaches it. A path in it is put in front of the path of each request.',
  callers: 'Who may call it',
  callerChoices: { api_key: 'Callers with an API key', none: 'Everyone' },
  callersHint: {
    api_key: 'A first key is made with the app. Requests without a key get 401.',
    none: 'Requests are forwarded without any credential.',
  },
  limit: 'Requests per minute (optional)',
  limitHint: {
    api_key: 'For each key. What is above it gets 429. Empty: no limit.',
    none: 'For each client address. What is above it gets 429. Empty: no limit.',
  },
  address: (path: string): string => `Clients will call ${path}`,
  noAddress: 'Clients will call a path that is made of the name.',
  addressDetails: 'Path and short name',
  slug: 'Short name',
  slugHint: 'For addresses and the command line: lower-case letters, digits and dashes.',
  path: 'Gateway path',
  pathHint: 'Clients call this path, then the version: v1 to begin with.',
  submit: 'Create the app',
  import: 'Import an OpenAPI description instead',
  saveTitle: (name: string): string => `Create ${name}`,
  done: (name: string): string => `${name} takes requests`,
  problems: {
    name: 'Give the app a name',
    slug: 'Use 1 to 63 lower-case letters, digits and inner dashes',
    path: 'Start with "/", such as /orders, without a "/" at the end',
    noUrl: 'Give the URL of the backend, such as http://127.0.0.1:3000',
    notUrl: (text: string): string =>
      `"${text}" is not a URL. A URL has a scheme, a host and perhaps a port: http://127.0.0.1:3000`,
    scheme: (scheme: string): string =>
      `The scheme is "${scheme}". The gateway calls backends by http:// or https://`,
    credentials: 'Remove the user name and password from the URL: it must not contain credentials',
    query: 'Leave out what follows "?" or "#": only the path is put before that of each request',
    port: 'The port is a number from 1 to 65535',
    limit: 'Give a whole number of at least 1, or leave it empty',
  },
} as const;

export const tryWords = {
  made: (name: string): string => `${name} takes requests`,
  madeSummary:
    'It serves now, without a restart. Send it a request from here, then call it from your program.',
  callAt: 'Clients call',
  backend: 'Answered by',
  callers: 'Who may call',
  limit: 'Limit',
  limitOf: (requests: number, seconds: number, per: string): string => {
    const time = seconds === 60 ? 'per minute' : `in ${seconds} seconds`;
    const counted: Readonly<Record<string, string>> = {
      api_key: 'for each key',
      ip: 'for each client address',
      scope: 'for all callers together',
    };
    return `${requests} ${requests === 1 ? 'request' : 'requests'} ${time}, ${counted[per] ?? `counted per ${per}`}`;
  },
  noLimit: 'none',
  limitElsewhere: 'as the settings say',
  key: 'API key',
  keyOnce:
    'Copy the key now: the gateway keeps only a hash of it. It is shown here until you reload the page, and never again after that.',
  test: 'Test request',
  testSummary:
    'The gateway sends a real request to itself, as a client would: it is logged, counted and limited, and it reaches the backend.',
  path: 'Path',
  keyField: 'API key to send',
  keyFieldHint: 'Paste one, or send the request without.',
  send: 'Send',
  sendWithKey: 'Send with the key',
  sendWithoutKey: 'Send without a key',
  withKey: 'With the key',
  withoutKey: 'Without a key',
  answered: 'Answer',
  took: (text: string): string => `in ${text}`,
  noAnswer: 'No answer',
  headers: (count: number): string => counted(count, 'header'),
  body: 'Body',
  emptyBody: 'The body is empty.',
  bytesBody: 'The body is not text; it is shown in Base64.',
  cutBody: 'The rest of the body is not shown.',
  refusedBy: 'The gateway refused it',
  unreachable: 'The gateway got no answer from the backend',
  unreachableAdvice: (backend: string): string =>
    `If it does not run, start it. If this machine cannot reach ${backend}, correct the address; in a container 127.0.0.1 is the container itself. If the message names something else, such as the certificate, change that in the backend or in the revision. Then send the request again.`,
  correctBackend: 'Correct the backend',
  refusedAsMeant: 'That is what should happen: this API asks for a key.',
  works: 'It works: the backend has answered through the gateway.',
  backendAnswer: (status: number): string =>
    `The gateway let it pass, and the backend answered with ${status}. Is the path right?`,
  why: 'Why, step by step',
  sameAsCurl: 'The same with curl',
  next: 'Next',
  nextLinks: {
    app: ['Open the app', 'Its versions, endpoints and policies'],
    keys: ['Create more keys', 'One for each caller, with scopes, an expiry and a limit of its own'],
    targets: ['Add a second backend', 'Under “Targets”: both, one per line; requests are spread over them'],
    canary: [
      'Roll out a new release',
      'Create a second revision, give it a part of the requests, and go back with one click',
    ],
    hosts: [
      'Serve it at a host of its own',
      'Under “Hosts”. To allow only HTTPS, start the gateway with a certificate and a port to redirect to',
    ],
    https: [
      'Find the settings of HTTPS',
      'GATEWAY_PROXY__TLS__… and GATEWAY_PROXY__HTTPS_REDIRECT_PORT, and what is in force',
    ],
    live: ['Watch requests as they come', 'Which came, how they were answered and why'],
    explain: ['Ask why a request is refused', 'Each decision, with the value and the level that gave it'],
    import: ['Import an OpenAPI document', 'Endpoints and their methods from the description of your API'],
    another: ['Create another app', ''],
  },
} as const;

export const firstStepsWords = {
  title: 'Put your first API behind the gateway',
  text: 'Give it a name and the address of its backend, choose who may call it, and send a test request from this page. It takes about a minute.',
  action: 'Create the first app',
  viewer: 'There are no apps yet. A token with the role editor or admin can create one.',
} as const;
