/** Explains requests through the management API, and does what the fix of an explanation says. */
import type { ExplainInput, Explanation, ExplainedStage, Fix, StageName } from '../../src/explain/schema.ts';
import type { TestGateway } from './gateway.ts';
import { revisionPath, versionPath } from './traffic.ts';

export function explain(gateway: TestGateway, input: ExplainInput): Promise<Explanation> {
  return gateway.must('POST', '/explain', input);
}

export function stageOf(explanation: Explanation, name: StageName): ExplainedStage {
  const stage = explanation.stages.find((each) => each.stage === name);
  if (stage === undefined) throw new Error(`There is no stage ${name}`);
  return stage;
}

/** Makes the change that a fix names, where it is one of the configuration of `slug`, version `v1`. */
export async function applyFix(gateway: TestGateway, slug: string, fix: Fix | null): Promise<void> {
  if (fix === null) throw new Error('There is no fix');
  const { target, value } = fix;
  const id = target?.id ?? '';
  const revisions = `${versionPath(slug)}/revisions`;
  switch (fix.action) {
    case 'activate_revision':
      return gateway.must('POST', `${revisions}/${id}/activate`);
    case 'register_endpoint':
      return gateway.must('POST', `${revisions}/${id}/endpoints`, value);
    case 'set_policy': {
      const field = target?.type === 'endpoint' ? 'policy_override' : 'default_policy';
      return gateway.must('PATCH', pathOf(slug, target), { [field]: value });
    }
    case 'wait':
      return void (await new Promise((done) => setTimeout(done, Number(value) * 1000)));
    default:
      return gateway.must('PATCH', pathOf(slug, target), value);
  }
}

function pathOf(slug: string, target: Fix['target']): string {
  switch (target?.type) {
    case 'app':
      return `/apps/${target.id}`;
    case 'version':
      return `/apps/${slug}/versions/${target.id}`;
    case 'revision':
      return `${versionPath(slug)}/revisions/${target.id}`;
    case 'endpoint':
      return `${revisionPath(slug)}/endpoints/${target.id}`;
    case 'token':
      return `/apps/${slug}/tokens/${target.id}`;
    default:
      throw new Error(`A fix of ${target?.type ?? 'nothing'} is no change of the configuration`);
  }
}
