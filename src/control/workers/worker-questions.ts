/** Questions to the workers: for samples, explanations, recorded requests and profiles. Owns nothing. */
import type { RecordedExchange } from '../../explain/explain-access.ts';
import type { ExchangeName, ExplainSetup } from '../../explain/messages.ts';
import type { ExplainInput, Explanation } from '../../explain/schema.ts';
import { unpackTexts } from '../../explain/traffic/traffic-ring.ts';
import type { WorkerSample } from '../../observe/metrics/metrics.ts';
import type { ProfileSink, ProfileTask, RunningProfile } from '../../observe/profile.ts';
import type { FromWorker, ToWorker } from './protocol.ts';
import type { WorkerThread } from './worker-thread.ts';

const SAMPLE_TIMEOUT_MS = 2_000;
/** Fetching a key set may take most of this time. */
const EXPLAIN_TIMEOUT_MS = 12_000;

interface WorkerQuestionsDeps {
  /** The workers that are not lost. */
  workers(fits?: (member: WorkerThread) => boolean): readonly WorkerThread[];
  /** Returns false for a worker that has ended. */
  isThere(workerNumber: number): boolean;
  /** The current explain setup for workers. */
  explainSetup(): ExplainSetup;
  applyTimeoutMs(member: WorkerThread): number;
}

export class WorkerQuestions {
  readonly #deps: WorkerQuestionsDeps;

  constructor(deps: WorkerQuestionsDeps) {
    this.#deps = deps;
  }

  /**
   * One sample from each serving worker that answers in time. Leaves out workers that have ended meanwhile: their
   * counts were added at their end.
   */
  async samples(): Promise<WorkerSample[]> {
    const answers = await this.#askServing((id) => ({ type: 'sample', id }));
    return answers
      .flatMap((answer) => (answer?.type === 'sample' ? [answer.sample] : []))
      .filter(({ worker }) => this.#deps.isThere(worker));
  }

  /** Lets one worker run a described request; undefined if it does not answer in time. */
  async explain(input: ExplainInput): Promise<Explanation | undefined> {
    const [member] = this.#deps.workers(({ isListening }) => isListening);
    const answer = await member?.ask((id) => ({ type: 'explain', id, input }), EXPLAIN_TIMEOUT_MS);
    if (answer?.type !== 'explained') return undefined;
    if (answer.error !== undefined) throw new Error(`A worker could not explain a request: ${answer.error}`);
    return answer.explanation;
  }

  /** Asks all workers for an exchange that one of them may have recorded. */
  async explainRecorded(name: ExchangeName): Promise<RecordedExchange | undefined> {
    for (const answer of await this.#askServing((id) => ({ type: 'explain_recorded', id, name })))
      if (answer?.type === 'explained' && answer.explanation !== undefined)
        return { explanation: answer.explanation, request: answer.request };
    return undefined;
  }

  /** The recorded requests of all workers that answer in time. */
  async trafficRecords(): Promise<string[]> {
    const answers = await this.#askServing((id) => ({ type: 'traffic_records', id }));
    const packed = answers.flatMap((answer) => (answer?.type === 'traffic_records' ? answer.records : []));
    return packed.flatMap((texts) => unpackTexts(texts));
  }

  /** @param worker number of a worker; undefined: any that serves @returns undefined when there is none */
  profile(worker: number | undefined, task: ProfileTask, sink: ProfileSink): RunningProfile | undefined {
    const [member] = this.#deps.workers(
      (each) => each.isListening && each.number === (worker ?? each.number),
    );
    return member?.profile(task, sink);
  }

  /** Numbers of the workers that `profile` knows. */
  profiled(): readonly number[] {
    return this.#deps.workers(({ isListening }) => isListening).map(({ number }) => number);
  }

  /** Resolves when every worker uses the explain setup, has died, or has not answered in time. */
  async publishExplainSetup(): Promise<void> {
    const setup = this.#deps.explainSetup();
    const answers = this.#deps
      .workers()
      .map((member) =>
        member.ask((id) => ({ type: 'explain_setup', id, setup }), this.#deps.applyTimeoutMs(member)),
      );
    await Promise.all(answers);
  }

  /**
   * The answers of all workers except the spare, in their order; undefined for an answer that does not arrive in
   * time.
   */
  #askServing(message: (id: number) => ToWorker): Promise<readonly (FromWorker | undefined)[]> {
    const serving = this.#deps.workers(({ isSpare }) => !isSpare);
    return Promise.all(serving.map((member) => member.ask(message, SAMPLE_TIMEOUT_MS)));
  }
}
