/** A form for each part of a policy, written by hand; a part that is not here is shown as YAML. */
import { useId, type ReactNode } from 'react';
import { useRead } from '../../../api/queries.ts';
import { policyWords } from '../../../text/policies.ts';
import { FieldGrid } from '../../../ui/controls/field.tsx';
import { memberOf, plainOf } from '../../../ui/editor/json-schema.ts';
import styles from '../policies.module.css';
import { ChoicesAt, MapAt, OtherFields, RawYaml, YamlAt } from './collections.tsx';
import { ChoiceAt, FlagAt, LinesAt, NumberAt, TextAt } from './fields.tsx';
import { fieldsOf, formBelow, type PartForm } from './part-form.ts';

interface Part {
  readonly Form: (props: { readonly form: PartForm }) => ReactNode;
  /** The first value of "set here", when no wider level has the part. */
  readonly start: unknown;
}

type FormProps = { readonly form: PartForm };

function AuthForm({ form }: FormProps): ReactNode {
  const { auth_type: type, jwt, mtls } = fieldsOf(form);
  const isJwt = type === 'jwt' || jwt !== undefined;
  const isMtls = type === 'mtls' || mtls !== undefined;
  return (
    <>
      <FieldGrid>
        <ChoiceAt form={form} name="auth_type" />
        <FlagAt form={form} name="required" />
        {type !== 'mtls' && <TextAt form={form} name="in" />}
        <FlagAt form={form} name="forward_credentials" />
        {isJwt && <LinesAt form={form} name="required_claims" />}
      </FieldGrid>
      {isJwt && <JwtForm form={form} />}
      {isMtls && <MtlsForm form={form} />}
      <OtherFields
        form={form}
        known={['auth_type', 'required', 'in', 'forward_credentials', 'required_claims', 'jwt', 'mtls']}
      />
    </>
  );
}

function MtlsForm({ form }: FormProps): ReactNode {
  const listId = useId();
  const states = useRead('GET /state', {}).data?.body.data ?? [];
  const certificates = states.flatMap(({ state }) => state?.certificates ?? []);
  const trusted = new Set(
    certificates.flatMap(({ listener, names }) => (listener === 'clients' ? names : [])),
  );
  const schema = memberOf(form.schema, 'mtls');
  if (schema === undefined) return null;
  const mtls = formBelow(form, 'mtls', plainOf(schema));
  return (
    <div className={styles['inner']}>
      <FieldGrid>
        <TextAt form={mtls} name="ca" placeholder="partners" list={listId} />
        <ChoiceAt form={mtls} name="revocation_lists" />
        <ChoiceAt form={mtls} name="forward" />
      </FieldGrid>
      <datalist id={listId}>
        {[...trusted].sort().map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </datalist>
      <YamlAt form={mtls} name="callers" />
      <OtherFields form={mtls} known={['ca', 'revocation_lists', 'forward', 'callers']} />
    </div>
  );
}

const JWT_FIELDS = [
  'issuer',
  'audiences',
  'jwks_uri',
  'secret',
  'algorithms',
  'leeway_secs',
  'claims_to_headers',
];

function JwtForm({ form }: FormProps): ReactNode {
  const schema = memberOf(form.schema, 'jwt');
  if (schema === undefined) return null;
  const jwt = formBelow(form, 'jwt', plainOf(schema));
  return (
    <div className={styles['inner']}>
      <FieldGrid>
        <TextAt form={jwt} name="issuer" placeholder="https://login.example.com/" />
        <LinesAt form={jwt} name="audiences" />
        <TextAt form={jwt} name="jwks_uri" placeholder="https://login.example.com/keys" />
        <TextAt form={jwt} name="secret" />
        <NumberAt form={jwt} name="leeway_secs" />
      </FieldGrid>
      <ChoicesAt form={jwt} name="algorithms" />
      <MapAt form={jwt} name="claims_to_headers" />
      <OtherFields form={jwt} known={JWT_FIELDS} />
    </div>
  );
}

function RateLimitForm({ form }: FormProps): ReactNode {
  const isBucket = fieldsOf(form)['algorithm'] === 'token_bucket' || fieldsOf(form)['burst'] !== undefined;
  return (
    <>
      <FieldGrid>
        <FlagAt form={form} name="enabled" />
        <NumberAt form={form} name="requests" />
        <NumberAt form={form} name="window_seconds" />
        <ChoiceAt form={form} name="algorithm" />
        {isBucket && <NumberAt form={form} name="burst" />}
        <TextAt form={form} name="per" />
        <ChoiceAt form={form} name="mode" />
        <ChoiceAt form={form} name="on_store_failure" />
      </FieldGrid>
      <OtherFields
        form={form}
        known={[
          'enabled',
          'requests',
          'window_seconds',
          'algorithm',
          'burst',
          'per',
          'mode',
          'on_store_failure',
        ]}
      />
    </>
  );
}

function ConcurrencyForm({ form }: FormProps): ReactNode {
  return (
    <>
      <FieldGrid>
        <NumberAt form={form} name="max" />
        <TextAt form={form} name="per" />
      </FieldGrid>
      <OtherFields form={form} known={['max', 'per']} />
    </>
  );
}

function IpAccessForm({ form }: FormProps): ReactNode {
  return (
    <>
      <FieldGrid>
        <LinesAt form={form} name="allow" />
        <LinesAt form={form} name="deny" />
      </FieldGrid>
      <OtherFields form={form} known={['allow', 'deny']} />
    </>
  );
}

function CorsForm({ form }: FormProps): ReactNode {
  return (
    <>
      <FieldGrid>
        <LinesAt form={form} name="allowed_origins" keepsEmpty />
        <LinesAt form={form} name="allowed_methods" />
        <LinesAt form={form} name="allowed_headers" />
        <LinesAt form={form} name="expose_headers" />
        <FlagAt form={form} name="allow_credentials" />
        <NumberAt form={form} name="max_age_secs" />
      </FieldGrid>
      <OtherFields
        form={form}
        known={[
          'allowed_origins',
          'allowed_methods',
          'allowed_headers',
          'expose_headers',
          'allow_credentials',
          'max_age_secs',
        ]}
      />
    </>
  );
}

const TIMEOUTS = ['connect_ms', 'first_byte_ms', 'idle_ms', 'total_ms'];

function TimeoutsForm({ form }: FormProps): ReactNode {
  return (
    <>
      <FieldGrid>
        {TIMEOUTS.map((name) => (
          <NumberAt key={name} form={form} name={name} />
        ))}
      </FieldGrid>
      <OtherFields form={form} known={TIMEOUTS} />
    </>
  );
}

function RetriesForm({ form }: FormProps): ReactNode {
  return (
    <>
      <FieldGrid>
        <NumberAt form={form} name="max" />
      </FieldGrid>
      <ChoicesAt form={form} name="on" />
      <OtherFields form={form} known={['max', 'on']} />
    </>
  );
}

const DIRECTIONS = ['request', 'response'];

function HeadersForm({ form }: FormProps): ReactNode {
  return (
    <>
      {DIRECTIONS.map((name) => (
        <HeaderEditsForm key={name} form={form} name={name} />
      ))}
      <OtherFields form={form} known={DIRECTIONS} />
    </>
  );
}

function HeaderEditsForm({ form, name }: FormProps & { readonly name: string }): ReactNode {
  const schema = memberOf(form.schema, name);
  if (schema === undefined) return null;
  const edits = formBelow(form, name, plainOf(schema));
  return (
    <fieldset className={styles['inner']}>
      <legend>{policyWords.parts[form.part]?.fields?.[name] ?? name}</legend>
      <MapAt form={edits} name="set" />
      <MapAt form={edits} name="add" />
      <LinesAt form={edits} name="remove" />
      <MapAt form={edits} name="rename" />
      <OtherFields form={edits} known={['set', 'add', 'remove', 'rename']} />
    </fieldset>
  );
}

const LinesForm = ({ form }: FormProps): ReactNode => <LinesAt form={form} name="" keepsEmpty />;
const FlagForm = ({ form }: FormProps): ReactNode => <FlagAt form={form} name="" />;
const NumberForm = ({ form }: FormProps): ReactNode => <NumberAt form={form} name="" />;
const ShadowForm = ({ form }: FormProps): ReactNode => <ChoicesAt form={form} name="" />;

/** A part without a form of its own. */
export function UnknownPartForm({ form }: FormProps): ReactNode {
  return (
    <RawYaml
      label={form.part}
      hint={policyWords.unknownPart}
      value={form.value}
      error={form.errorAt('')}
      onValue={form.onValue}
    />
  );
}

export const PART_FORMS: Readonly<Record<string, Part>> = {
  auth: { Form: AuthForm, start: { auth_type: 'api_key' } },
  required_scopes: { Form: LinesForm, start: [] },
  allowed_methods: { Form: LinesForm, start: ['GET', 'POST'] },
  ip_access: { Form: IpAccessForm, start: {} },
  concurrency: { Form: ConcurrencyForm, start: { max: 100 } },
  rate_limit: { Form: RateLimitForm, start: { enabled: true, requests: 100, window_seconds: 60 } },
  cors: { Form: CorsForm, start: { allowed_origins: [] } },
  max_body_bytes: { Form: NumberForm, start: 1_048_576 },
  buffer_request_bytes: { Form: NumberForm, start: 1_048_576 },
  min_body_bytes_per_sec: { Form: NumberForm, start: 240 },
  timeouts: { Form: TimeoutsForm, start: {} },
  retries: { Form: RetriesForm, start: { max: 1, on: ['connect', 'reset'] } },
  headers: { Form: HeadersForm, start: {} },
  grpc_web: { Form: FlagForm, start: true },
  shadow: { Form: ShadowForm, start: [] },
};
