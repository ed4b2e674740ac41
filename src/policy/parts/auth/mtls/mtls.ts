/**
 * Authentication by the certificate that the client has presented in its TLS handshake. The handshake asks for one and
 * accepts any; here it is verified against the certificates that the policy trusts, once per connection, and again when
 * the files change, or when a certificate or a revocation list expires. So a certificate that is revoked now is refused
 * on the next request of a connection that is open.
 */
import type { AppName } from '../../../../model/resources.ts';
import { readCertificate, type Certificate } from '../../../../x509/certificate.ts';
import type { TrustDirectory } from '../../../../x509/trust-store.ts';
import { verifyChain } from '../../../../x509/verify-chain.ts';
import { fieldLine, scopesLine } from '../../../caller.ts';
import type { PolicyDependencies } from '../../../dependencies.ts';
import type {
  Caller,
  ClientTls,
  Denial,
  Evaluation,
  RequestFacts,
  Stage,
  StageResult,
} from '../../../stage.ts';
import type { AuthPolicy } from '../schema.ts';
import { findCaller } from './certificate-callers.ts';
import { certificateLine } from './certificate-fields.ts';
import type { MtlsSettings } from './mtls-schema.ts';
import {
  CERTIFICATE_INVALID,
  CERTIFICATE_MISSING,
  MISDIRECTED,
  type CertificateProblem,
} from './mtls-reasons.ts';

/** Beside the client's own. */
const SENT_MAX = 10;
/** How long a refusal is remembered: a certificate may become valid at any second. */
const REFUSAL_MS = 1_000;

/** The result of one policy for a connection. */
interface Verdict {
  readonly generation: number;
  /** Unix milliseconds: outside of these the certificate is verified again. */
  readonly validFromMs: number;
  readonly expiresAtMs: number;
  /** undefined: refused. */
  readonly caller: Caller | undefined;
  readonly denial: Denial | undefined;
  readonly certificate: Evaluation['certificate'];
}

interface MtlsContext {
  readonly settings: MtlsSettings;
  readonly app: AppName;
  readonly required: boolean;
  readonly trust: TrustDirectory;
  readonly onAuth: PolicyDependencies['onAuth'];
}

export function mtlsStage(
  { required = true }: AuthPolicy,
  settings: MtlsSettings,
  app: AppName,
  { trust, onAuth }: PolicyDependencies,
): Stage {
  const context = { settings, app, required, trust, onAuth };
  trust.noteUse();
  const verdicts = new WeakMap<ClientTls, Verdict>();
  const withoutTls = missing(app, true);
  const withoutCertificate = missing(app, false);
  return ({ clientTls, nowMs }: RequestFacts, evaluation: Evaluation): StageResult => {
    if (clientTls?.askedFor.has(settings.ca) === false) return misdirected(settings, clientTls);
    if (clientTls === undefined || clientTls.certificates.length === 0) {
      onAuth(required ? 'missing' : 'anonymous');
      if (!required) return undefined;
      return clientTls === undefined ? withoutTls : withoutCertificate;
    }
    let verdict = verdicts.get(clientTls);
    if (verdict === undefined || !isCurrent(verdict, trust, nowMs)) {
      verdict = judge(clientTls, context, nowMs);
      verdicts.set(clientTls, verdict);
    }
    return conclude(verdict, context, evaluation);
  };
}

function conclude(
  { caller, denial, certificate }: Verdict,
  context: MtlsContext,
  evaluation: Evaluation,
): StageResult {
  const { required, onAuth } = context;
  evaluation.certificate = certificate;
  if (caller !== undefined) {
    evaluation.caller = caller;
    onAuth('mtls');
    return undefined;
  }
  evaluation.authFailure = denial;
  onAuth(required ? 'rejected' : 'ignored');
  return required ? denial : undefined;
}

function isCurrent(
  { generation, validFromMs, expiresAtMs }: Verdict,
  trust: TrustDirectory,
  nowMs: number,
): boolean {
  return generation === trust.generation && nowMs >= validFromMs && nowMs <= expiresAtMs;
}

function judge({ certificates }: ClientTls, context: MtlsContext, nowMs: number): Verdict {
  const { settings, trust, app } = context;
  const [own, ...sent] = certificates;
  const leaf = own && readCertificate(own);
  const refused = (problem: CertificateProblem, at: Certificate | undefined = leaf): Verdict => {
    const data = {
      realm: app.slug,
      problem,
      ca: settings.ca,
      at: at?.subjectText ?? '',
      subject: leaf?.subjectText ?? '',
    };
    const denial = { kind: CERTIFICATE_INVALID, data };
    const shown = shownCertificate(settings, leaf, undefined, undefined);
    const { generation } = trust;
    const expiresAtMs = nowMs + REFUSAL_MS;
    return { generation, validFromMs: nowMs, expiresAtMs, caller: undefined, denial, certificate: shown };
  };
  const bundle = trust.find(settings.ca);
  if (bundle === undefined) return refused('no_trusted_certificates');
  if (leaf === undefined) return refused('unreadable');
  if (sent.length > SENT_MAX) return refused('too_many_certificates');
  const further = sent.map(readCertificate).filter((each) => each !== undefined);
  const found = verifyChain(leaf, further, bundle, {
    nowMs,
    overdueCrls: trust.overdueCrls,
    needsLists: settings.revocation_lists === 'required',
  });
  if ('problem' in found) return refused(found.problem, found.at);
  const who = findCaller(settings.callers, leaf);
  if (who === undefined) return refused('no_caller');
  const { validFromMs, expiresAtMs, chain } = found;
  const scopes = new Set(who.scopes);
  const caller: Caller = Object.freeze({
    kind: 'mtls',
    id: who.name,
    name: who.name,
    scopes,
    claims: undefined,
    keyRateLimit: null,
    upstreamHeaderLines:
      fieldLine('X-Headgate-Subject', who.name) +
      scopesLine(scopes) +
      certificateLine(settings.forward, leaf),
    usagePlace: 0,
  });
  const certificate = shownCertificate(settings, leaf, chain.at(-1), who.rule);
  return { generation: trust.generation, validFromMs, expiresAtMs, caller, denial: undefined, certificate };
}

/** For explain. */
function shownCertificate(
  { ca }: MtlsSettings,
  leaf: Certificate | undefined,
  trusted: Certificate | undefined,
  rule: number | undefined,
): Evaluation['certificate'] {
  return {
    subject: leaf?.subjectText ?? '',
    fingerprint: leaf?.fingerprint ?? '',
    expiresAtMs: leaf?.expiresAtMs,
    ca,
    trusted: trusted?.subjectText,
    rule,
  };
}

function missing({ slug }: AppName, isPlain: boolean): Denial {
  return { kind: CERTIFICATE_MISSING, data: { realm: slug, isPlain } };
}

/** The connection was opened for other hosts, or before the policy was in force. */
function misdirected({ ca }: MtlsSettings, { serverName }: ClientTls): Denial {
  return { kind: MISDIRECTED, data: { ca, serverName } };
}
